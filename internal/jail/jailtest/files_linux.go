//go:build amd64 || arm64

package jailtest

import (
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// steal reads from a file, which is what every way to a secret ends in.
func steal(fd int, err error) error {
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 64))
	if err == nil && n == 0 {
		return fmt.Errorf("nothing to read")
	}
	return err
}

func proc(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

func read(path func(Target) string) func(Target) error {
	return func(t Target) error { return steal(unix.Open(path(t), unix.O_RDONLY, 0)) }
}

func fixed(path string) func(Target) string { return func(Target) string { return path } }

// opened is the descriptor of a path that isn't opened yet, whose opening the
// kernel doesn't stop.
func opened(path string) (int, error) { return unix.Open(path, unix.O_PATH, 0) }

var fileAttacks = []Attack{
	{Name: "read the secret", Do: read(func(t Target) string { return t.Secret })},
	{Name: "read /etc/passwd", Do: read(fixed("/etc/passwd"))},
	{Name: "read /proc/self/environ", Do: read(fixed("/proc/self/environ"))},
	{Name: "read the victim's memory map", Do: read(func(t Target) string { return proc(t.Victim, "maps") })},
	{Name: "read the victim's environment", Do: read(func(t Target) string { return proc(t.Victim, "environ") })},
	{Name: "open the victim's memory", Do: func(t Target) error {
		fd, err := unix.Open(proc(t.Victim, "mem"), unix.O_RDWR, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{Name: "read the secret through the victim's root", Do: read(func(t Target) string { return proc(t.Victim, "root") + t.Secret })},
	{Name: "read the secret with openat2", Do: func(t Target) error {
		return steal(unix.Openat2(unix.AT_FDCWD, t.Secret, &unix.OpenHow{Flags: unix.O_RDONLY}))
	}},
	{Name: "read the secret, found before it is opened", Do: func(t Target) error {
		fd, err := opened(t.Secret)
		if err != nil {
			return err
		}
		return steal(unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY, 0))
	}},
	{Name: "map the secret", Do: func(t Target) error {
		fd, err := opened(t.Secret)
		if err != nil {
			return err
		}
		_, err = unix.Mmap(fd, 0, 16, unix.PROT_READ, unix.MAP_SHARED)
		return err
	}},
	{Name: "list the secret's directory", Do: func(t Target) error {
		fd, err := unix.Open(t.Outside, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		_, err = unix.Getdents(fd, make([]byte, 4096))
		return err
	}},
	{Name: "overwrite the secret", Do: func(t Target) error {
		_, err := unix.Open(t.Secret, unix.O_WRONLY, 0)
		return err
	}},
	{Name: "truncate the secret", Do: func(t Target) error { return unix.Truncate(t.Secret, 0) }},
	{Name: "truncate the secret by opening it", Do: func(t Target) error {
		_, err := unix.Open(t.Secret, unix.O_RDONLY|unix.O_TRUNC, 0)
		return err
	}},
	{Name: "remove the secret", Do: func(t Target) error { return unix.Unlink(t.Secret) }},
	{Name: "rename the secret", Do: func(t Target) error { return unix.Rename(t.Secret, t.Secret+".gone") }},
	{Name: "change the secret's mode", Do: func(t Target) error { return unix.Chmod(t.Secret, 0o777) }},
	{Name: "make a file", Do: func(t Target) error {
		_, err := unix.Open(filepath.Join(t.Outside, "made"), unix.O_CREAT|unix.O_WRONLY, 0o600)
		return err
	}},
	{Name: "make a directory", Do: func(t Target) error { return unix.Mkdir(filepath.Join(t.Outside, "made"), 0o700) }},
	{Name: "make a link", Do: func(t Target) error { return unix.Symlink("/", filepath.Join(t.Outside, "made")) }},
	{Name: "make a fifo", Do: func(t Target) error { return unix.Mkfifo(filepath.Join(t.Outside, "made"), 0o600) }},
	{Name: "make an unnamed file", Do: func(t Target) error {
		_, err := unix.Open(t.Outside, unix.O_TMPFILE|unix.O_RDWR, 0o600)
		return err
	}},
	{Name: "change directory", Do: func(t Target) error { return unix.Chdir(t.Outside) }},
	{Name: "set an extended attribute", Do: func(t Target) error { return unix.Setxattr(t.Secret, "user.a", []byte("b"), 0) }},
	{Name: "watch a directory", Do: func(t Target) error {
		_, err := unix.InotifyInit1(0)
		return err
	}},
}

// storageAttacks start from what the process was handed.
var storageAttacks = []Attack{
	{Name: "climb out of the handed directory", Storage: true, Do: func(t Target) error {
		return steal(unix.Openat(t.Inside, "../../../../../../../../.."+t.Secret, unix.O_RDONLY, 0))
	}},
	{Name: "follow a link out of it", Storage: true, Do: func(t Target) error {
		if err := unix.Symlinkat(t.Secret, t.Inside, "way-out"); err != nil {
			return err
		}
		defer unix.Unlinkat(t.Inside, "way-out", 0)
		return steal(unix.Openat(t.Inside, "way-out", unix.O_RDONLY, 0))
	}},
	{Name: "link the secret into it", Storage: true, Do: func(t Target) error {
		err := unix.Linkat(unix.AT_FDCWD, t.Secret, t.Inside, "linked", 0)
		unix.Unlinkat(t.Inside, "linked", 0)
		return err
	}},
	{Name: "rename the secret into it", Storage: true, Do: func(t Target) error {
		return unix.Renameat(unix.AT_FDCWD, t.Secret, t.Inside, "moved")
	}},
	{Name: "rename something out of it", Storage: true, Do: func(t Target) error {
		fd, err := unix.Openat(t.Inside, "mine", unix.O_CREAT|unix.O_WRONLY, 0o600)
		if err != nil {
			return ErrNotHere
		}
		unix.Close(fd)
		return unix.Renameat(t.Inside, "mine", unix.AT_FDCWD, filepath.Join(t.Outside, "moved"))
	}},
	{Name: "run a program from it", Storage: true, Deadly: true, Do: func(t Target) error {
		return exec(t.Inside, "mine")
	}},
	{Name: "map a file of it as code", Storage: true, Deadly: true, Do: func(t Target) error {
		fd, err := unix.Openat(t.Inside, "mine", unix.O_CREAT|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		return err
	}},
	{Name: "make a device in it", Storage: true, Do: func(t Target) error {
		return unix.Mknodat(t.Inside, "null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	}},
	{Name: "make a socket in it", Storage: true, Do: func(t Target) error {
		return unix.Mknodat(t.Inside, "sock", unix.S_IFSOCK|0o666, 0)
	}},
	{Name: "give a file of it the set-user-id bit", Storage: true, Do: func(t Target) error {
		fd, err := unix.Openat(t.Inside, "mine", unix.O_CREAT|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return unix.Fchmod(fd, 0o4755)
	}},
}
