package disk

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME

func (osFS) Stat(name string) (Stat, error) {
	s, err := statAt(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return Stat{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return s, nil
}

func (f osFile) Stat() (s Stat, err error) {
	err = f.control("stat", func(fd int) (err error) {
		s, err = statAt(fd, "", unix.AT_EMPTY_PATH)
		return err
	})
	return s, err
}

func statAt(fd int, name string, flags int) (Stat, error) {
	var x unix.Statx_t
	err := unix.Statx(fd, name, flags, statMask, &x)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return statOld(fd, name, flags) // a filter from before statx
	}
	if err != nil {
		return Stat{}, err
	}
	s := Stat{
		Mode:   modeOf(uint32(x.Mode)),
		Size:   int64(x.Size),
		Owner:  int(x.Uid),
		Links:  uint64(x.Nlink),
		Device: unix.Mkdev(x.Dev_major, x.Dev_minor),
		Inode:  x.Ino,
	}
	if x.Mask&unix.STATX_BTIME != 0 {
		s.Born = x.Btime.Sec*1e9 + int64(x.Btime.Nsec)
	}
	return s, nil
}

func statOld(fd int, name string, flags int) (Stat, error) {
	var t unix.Stat_t
	if err := unix.Fstatat(fd, name, &t, flags); err != nil {
		return Stat{}, err
	}
	return Stat{Mode: modeOf(t.Mode), Size: t.Size, Owner: int(t.Uid), Links: uint64(t.Nlink), Device: t.Dev, Inode: t.Ino}, nil
}

func syncData(fd int) error { return unix.Fdatasync(fd) }
