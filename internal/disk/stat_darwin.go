package disk

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

func (osFS) Stat(name string) (Stat, error) {
	var t unix.Stat_t
	if err := unix.Lstat(name, &t); err != nil {
		return Stat{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return statOf(&t), nil
}

func (f osFile) Stat() (Stat, error) {
	var t unix.Stat_t
	err := f.control("stat", func(fd int) error { return unix.Fstat(fd, &t) })
	return statOf(&t), err
}

func statOf(t *unix.Stat_t) Stat {
	return Stat{
		Mode:   modeOf(uint32(t.Mode)),
		Size:   t.Size,
		Owner:  int(t.Uid),
		Links:  uint64(t.Nlink),
		Device: uint64(t.Dev),
		Inode:  t.Ino,
		Born:   t.Btim.Nano(),
	}
}

// syncData asks for the drive's own cache too: fsync alone stops before it.
func syncData(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	return unix.Fsync(fd) // a file system without F_FULLFSYNC
}
