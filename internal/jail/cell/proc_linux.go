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
	if err := v.makeMasks(); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=4"); err != nil {
		return os.NewSyscallError("mount /proc", err)
	}
	for _, name := range maskedFolders {
		if err := maskReadable("/proc/"+name, v.masks.folder); err != nil {
			return err
		}
	}
	for _, name := range maskedFiles {
		if err := maskReadable("/proc/"+name, v.masks.file); err != nil {
			return err
		}
	}
	if err := timeNamespace(); err != nil { // while its offsets can be written
		return err
	}
	v.rule("/proc", rightsProc, true)
	// What covers isn't read-only, or the kernel wouldn't note that it was read.
	if err := unix.MountSetattr(here, "/proc", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: noSuid | noDev | noExec}); err != nil {
		return os.NewSyscallError("mount_setattr /proc", err)
	}
	return setHere("/proc", readOnly)
}

// maskReadable covers what this process could read, which has more rights than the
// unit. Kernels and users differ in what that is.
func maskReadable(at string, with int) error {
	if unix.Faccessat(here, at, unix.R_OK, unix.AT_EACCESS) != nil {
		return nil
	}
	return bind(with, "", at, 0, false)
}

// masks cover what they have the type of, O_PATH. What is hidden can't be opened.
// What the kernel tells of the machine is empty, and that someone looks is noticed.
// They lie where /proc lies upon them.
type masks struct{ hiddenFile, hiddenFolder, file, folder, sys int }

func (v *view) makeMasks() error {
	_ = unix.Mkdirat(v.memory, "proc", 0o755) // it may be there
	for _, m := range []struct {
		name string
		fd   *int
		dir  bool
		mode uint32
		seen string
	}{
		{"hidden-file", &v.masks.hiddenFile, false, 0, ""}, {"hidden-folder", &v.masks.hiddenFolder, true, 0, ""},
		{"file", &v.masks.file, false, 0o444, "/proc"}, {"folder", &v.masks.folder, true, 0o555, "/proc"}, {"sys", &v.masks.sys, true, 0o555, "/sys"},
	} {
		if err := v.makeMask("proc/"+m.name, m.fd, m.dir, m.mode, m.seen); err != nil {
			return fmt.Errorf("mask: %w", err)
		}
	}
	return nil
}

func (v *view) makeMask(name string, fd *int, dir bool, mode uint32, seen string) (err error) {
	kind := uint32(unix.S_IFREG)
	if dir {
		err = unix.Mkdirat(v.memory, name, mode)
	} else {
		err = unix.Mknodat(v.memory, name, kind|mode, 0)
	}
	if err == nil {
		*fd, err = unix.Openat(v.memory, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	var st unix.Stat_t
	if err == nil && seen != "" {
		err = unix.Fstat(*fd, &st)
		v.noticed = append(v.noticed, noticed{*fd, seen, st.Atim, st.Ctim})
	}
	return err
}

// noticed is a file that tells by its times whether it was read: a first read sets
// one, and to set that back sets another.
type noticed struct {
	fd            int
	name          string
	read, changed unix.Timespec
}

// looked are the names of what was read.
func (v *view) looked() (list []string) {
	for _, n := range v.noticed {
		var st unix.Stat_t
		if err := unix.Fstat(n.fd, &st); err != nil || st.Atim != n.read || st.Ctim != n.changed {
			list = append(list, n.name)
		}
	}
	return list
}

// sys is empty: it shows devices, power and control groups.
func (v *view) sys() error {
	if err := v.place("/sys", true); err != nil {
		return err
	}
	v.rule("/sys", rightsRead, true)
	return bind(v.masks.sys, "", "/sys", noSuid|noDev|noExec, false)
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
