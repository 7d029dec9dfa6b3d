//go:build amd64 || arm64

package cell

import (
	"encoding/binary"
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
	if dir {
		return mask(at, emptyFolder, 0)
	}
	return mask(at, emptyFile, 0)
}

// The masks: what covers has the type of what is covered. What is hidden can't be
// opened. What the kernel tells of the machine is empty, and who looks is noticed.
const (
	hiddenFile   = "/.hidden-file"
	hiddenFolder = "/.hidden-folder"
	emptyFile    = "/.empty-file"
	emptyFolder  = "/.empty-folder"
)

func (v *view) makeMasks() (err error) {
	if v.looks, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		return os.NewSyscallError("inotify_init1", err)
	}
	for _, name := range []string{hiddenFile, emptyFile} {
		if err := makeFile(name, nil, map[string]uint32{emptyFile: 0o444}[name]); err != nil {
			return err
		}
	}
	for _, name := range []string{hiddenFolder, emptyFolder} {
		if err := unix.Mkdir(name, map[string]uint32{emptyFolder: 0o555}[name]); err != nil {
			return &os.PathError{Op: "mkdir", Path: name, Err: err}
		}
	}
	v.seen = map[int32]string{}
	return steps(func() error { return v.look(emptyFile, "/proc") }, func() error { return v.look(emptyFolder, "/proc") })
}

// look notices who opens a file or folder, under a name.
func (v *view) look(at, seen string) error {
	wd, err := unix.InotifyAddWatch(v.looks, at, unix.IN_OPEN)
	if err != nil {
		return &os.PathError{Op: "inotify_add_watch", Path: at, Err: err}
	}
	v.seen[int32(wd)] = seen
	return nil
}

// looked are the names under which something was opened. It says so once.
func (v *view) looked() (list []string) {
	b := make([]byte, 4096)
	for {
		n, err := unix.Read(v.looks, b)
		if err != nil || n < unix.SizeofInotifyEvent {
			return list
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			if name := v.seen[int32(binary.NativeEndian.Uint32(b[at:]))]; name != "" {
				list = append(list, name)
			}
			at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[at+12:]))
		}
	}
}

func mask(at, with string, attributes uint64) error {
	return bind(here, with, at, attributes, false)
}

// sys is empty: it shows devices, power and control groups.
func (v *view) sys() error {
	if err := v.place("/sys", true); err != nil {
		return err
	}
	const empty = "/.empty-sys"
	if err := unix.Mkdir(empty, 0o555); err != nil {
		return &os.PathError{Op: "mkdir", Path: empty, Err: err}
	}
	if err := v.look(empty, "/sys"); err != nil {
		return err
	}
	if err := bind(here, empty, "/sys", readOnly|noSuid|noDev|noExec, false); err != nil {
		return err
	}
	v.rule("/sys", rightsRead, true)
	return os.Remove(empty)
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
