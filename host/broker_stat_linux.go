package host

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// StatAt looks at a path.
func (d *dir) StatAt(ctx context.Context, path string, follow bool) (wasi.Filestat, error) {
	if err := d.begin(ctx, path, false); err != nil {
		return wasi.Filestat{}, err
	}
	n, err := d.pin(path, follow, 0)
	if err != nil {
		return wasi.Filestat{}, err
	}
	defer n.close()
	if err := d.s.see(n.path); err != nil {
		return wasi.Filestat{}, err
	}
	return filestat(&n.st), nil
}

// SetTimesAt changes a path's times, which is a write.
func (d *dir) SetTimesAt(ctx context.Context, path string, follow bool, t wasi.Times) error {
	if err := d.begin(ctx, path, true); err != nil {
		return err
	}
	n, err := d.pin(path, follow, 0)
	if err != nil {
		return err
	}
	defer n.close()
	if err := d.s.b.may(grant.Write, n.path); err != nil {
		return err
	}
	return setTimes(n.fd, t)
}

// Stat looks at the directory itself.
func (d *dir) Stat(ctx context.Context) (wasi.Filestat, error) {
	if err := d.s.b.operation(ctx, false); err != nil {
		return wasi.Filestat{}, err
	}
	n := node{fd: d.fd}
	if err := d.s.identify(d.root, &n); err != nil {
		return wasi.Filestat{}, err
	}
	return filestat(&n.st), nil
}

// SetTimes changes the directory's own times.
func (d *dir) SetTimes(ctx context.Context, t wasi.Times) error {
	if err := d.s.b.operation(ctx, true); err != nil {
		return err
	}
	path, err := d.s.guestName(d.root, d.fd)
	if err != nil {
		return err
	}
	if err := d.s.b.may(grant.Write, path); err != nil {
		return err
	}
	return setTimes(d.fd, t)
}

func filestat(st *unix.Stat_t) wasi.Filestat {
	return wasi.Filestat{
		Dev: st.Dev, Ino: st.Ino, Type: filetype(st.Mode), Nlink: uint64(st.Nlink), Size: uint64(max(st.Size, 0)),
		Atim: nanos(st.Atim), Mtim: nanos(st.Mtim), Ctim: nanos(st.Ctim),
	}
}

// nanos is a time since 1970; earlier ones have no form in WASI.
func nanos(t unix.Timespec) uint64 { return uint64(max(t.Nano(), 0)) }

func filetype(mode uint32) wasi.Filetype {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return wasi.TypeRegularFile
	case unix.S_IFDIR:
		return wasi.TypeDirectory
	case unix.S_IFLNK:
		return wasi.TypeSymbolicLink
	case unix.S_IFBLK:
		return wasi.TypeBlockDevice
	case unix.S_IFCHR:
		return wasi.TypeCharacterDevice
	case unix.S_IFSOCK:
		return wasi.TypeSocketStream
	}
	return wasi.TypeUnknown
}

// setTimes acts on the descriptor, link or not.
func setTimes(fd int, t wasi.Times) error {
	atim, err := timespec(t.SetAtim, t.AtimNow, t.Atim)
	if err != nil {
		return err
	}
	mtim, err := timespec(t.SetMtim, t.MtimNow, t.Mtim)
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(fd, "", []unix.Timespec{atim, mtim}, unix.AT_EMPTY_PATH)
}

func timespec(set, now bool, t uint64) (unix.Timespec, error) {
	switch {
	case now:
		return unix.Timespec{Nsec: unix.UTIME_NOW}, nil
	case !set:
		return unix.Timespec{Nsec: unix.UTIME_OMIT}, nil
	case t > math.MaxInt64:
		return unix.Timespec{}, unix.EINVAL
	}
	return unix.NsecToTimespec(int64(t)), nil
}
