//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// What of /proc tells of the machine or of other units, holds the host's secrets or
// leads out. The rest of what isn't a process is read-only.
var (
	maskedFolders = []string{"acpi", "asound", "bus", "driver", "fs", "irq", "pressure", "scsi", "dynamic_debug"}
	maskedFiles   = []string{
		"config.gz", "diskstats", "interrupts", "iomem", "ioports", "kallsyms", "kcore", "key-users", "keys", "kmsg",
		"kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "locks", "mdstat", "modules", "pagetypeinfo", "partitions",
		"sched_debug", "slabinfo", "softirqs", "swaps", "sysrq-trigger", "timer_list", "vmallocinfo", "zoneinfo",
	}
)

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
	for n, list := range [][]string{maskedFolders, maskedFiles} {
		for _, name := range list {
			if err := maskReadable("/proc/"+name, n == 0); err != nil {
				return err
			}
		}
	}
	if err := timeNamespace(); err != nil { // while its offsets can be written
		return err
	}
	v.rule("/proc", rightsProc, true)
	if err := unix.MountSetattr(here, "/proc", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: readOnly | noSuid | noDev | noExec}); err != nil {
		return os.NewSyscallError("mount_setattr /proc", err)
	}
	return nil
}

// maskReadable covers what this process could read, which has more rights than the
// unit. Kernels and users differ in what that is.
func maskReadable(at string, dir bool) error {
	if unix.Faccessat(here, at, unix.R_OK, unix.AT_EACCESS) != nil {
		return nil
	}
	return mask(at, dir, 0)
}

// The masks: what covers has the type of what is covered, and no rights.
const (
	maskFile = "/.file"
	maskDir  = "/.folder"
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

func mask(at string, dir bool, attributes uint64) error {
	with := maskFile
	if dir {
		with = maskDir
	}
	return bind(here, with, at, attributes, false)
}

// sys is empty: it shows devices, power and control groups.
func (v *view) sys() error { return v.place("/sys", true) }

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
