//go:build unix && !linux && !darwin

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

// statOf leaves the birth out: not every system here says it in the same way.
func statOf(t *unix.Stat_t) Stat {
	return Stat{
		Mode:   modeOf(uint32(t.Mode)),
		Size:   t.Size,
		Owner:  int(t.Uid),
		Links:  uint64(t.Nlink),
		Device: uint64(t.Dev),
		Inode:  uint64(t.Ino),
	}
}

func syncData(fd int) error { return unix.Fsync(fd) }
