//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maskedProc is what of /proc tells of the machine or of other units, holds the
// host's secrets or leads out. The rest of what isn't a process is read-only.
var maskedProc = []string{
	"acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "tty", "dynamic_debug",
	"buddyinfo", "config.gz", "consoles", "diskstats", "dma", "execdomains", "fb", "interrupts", "iomem", "ioports",
	"kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats",
	"locks", "mdstat", "misc", "modules", "mtrr", "pagetypeinfo", "partitions", "sched_debug", "schedstat",
	"slabinfo", "softirqs", "swaps", "sysrq-trigger", "timer_list", "vmallocinfo", "zoneinfo",
	"sys/dev", "sys/fs", "sys/vm/block_dump", "pressure",
}

// proc mounts the unit's own processes, and covers what isn't theirs. It is
// read-only as a whole: writing to it changes the machine or code that runs. A
// process sees those that it could trace, so not the first one.
func (v *view) proc() error {
	if err := v.place("/proc", true); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=4"); err != nil {
		return os.NewSyscallError("mount /proc", err)
	}
	if err := v.makeMasks(); err != nil {
		return err
	}
	for _, name := range maskedProc {
		var st unix.Stat_t
		if err := unix.Lstat("/proc/"+name, &st); err != nil {
			continue // kernels differ
		}
		if err := v.mask("/proc/"+name, st.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
			return err
		}
	}
	if err := timeNamespace(); err != nil { // while its offsets can be written
		return err
	}
	v.rule("/proc", rightsProc, true)
	return setHere("/proc", readOnly|noSuid|noDev|noExec)
}

// The masks: what covers has the type of what is covered, and no rights.
const (
	maskFile = "/dev/.file"
	maskDir  = "/dev/.dir"
)

func (v *view) makeMasks() error {
	if err := makeFile(maskFile, nil, 0); err != nil {
		return err
	}
	if err := unix.Mkdir(maskDir, 0); err != nil {
		return &os.PathError{Op: "mkdir", Path: maskDir, Err: err}
	}
	return nil
}

func (v *view) mask(at string, dir bool) error {
	with := maskFile
	if dir {
		with = maskDir
	}
	return bind(here, with, at, readOnly|noSuid|noDev|noExec, false)
}

// sys is empty: it shows devices, power and control groups.
func (v *view) sys() error {
	if err := v.place("/sys", true); err != nil {
		return err
	}
	return nil
}

// timeNamespace lets the unit's clocks begin with it. It holds for children of the
// calling thread.
func timeNamespace() error {
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		if errors.Is(err, unix.EINVAL) {
			return nil // a kernel before 5.6: a second wall
		}
		return os.NewSyscallError("unshare time", err)
	}
	var mono, boot unix.Timespec
	if err := errors.Join(unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono), unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)); err != nil {
		return err
	}
	offsets := fmt.Sprintf("monotonic -%d 0\nboottime -%d 0\n", mono.Sec-1, boot.Sec-1)
	return os.WriteFile("/proc/"+strconv.Itoa(unix.Gettid())+"/timens_offsets", []byte(offsets), 0)
}
