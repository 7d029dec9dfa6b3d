package host

import (
	"context"
	"io"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// file is an open file of a unit. What it was opened for, the kernel holds it to.
type file struct {
	s    *storage
	fd   int
	path string // guest path when it was opened
}

// transfer runs one reading or writing call, again when a signal broke it off.
func transfer(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f *file) read(ctx context.Context, bufs [][]byte, call func([][]byte) (int, error)) (int, error) {
	b := f.s.b
	if err := b.operation(ctx, false); err != nil {
		return 0, err
	}
	bufs = cut(bufs, b.rate.readLimit())
	n, err := transfer(func() (int, error) { return call(bufs) })
	if err != nil {
		return 0, err
	}
	b.counts.readBytes.Add(uint64(n))
	return n, b.rate.bytes(ctx, n)
}

// cut keeps the first n bytes of the buffers.
func cut(bufs [][]byte, n int) [][]byte {
	for i, b := range bufs {
		if len(b) >= n {
			short := append([][]byte(nil), bufs[:i+1]...)
			short[i] = b[:n]
			return short
		}
		n -= len(b)
	}
	return bufs
}

// Read reads at the file's position.
func (f *file) Read(ctx context.Context, bufs [][]byte) (int, error) {
	return f.read(ctx, bufs, func(bufs [][]byte) (int, error) {
		if len(bufs) == 1 {
			return unix.Read(f.fd, bufs[0])
		}
		return unix.Readv(f.fd, bufs)
	})
}

// Pread reads at an offset.
func (f *file) Pread(ctx context.Context, bufs [][]byte, off int64) (int, error) {
	return f.read(ctx, bufs, func(bufs [][]byte) (int, error) {
		if len(bufs) == 1 {
			return unix.Pread(f.fd, bufs[0], off)
		}
		return unix.Preadv(f.fd, bufs, off)
	})
}

func (f *file) write(ctx context.Context, call func() (int, error)) (int, error) {
	if err := f.s.b.operation(ctx, true); err != nil {
		return 0, err
	}
	n, err := transfer(call)
	if err == nil {
		f.s.b.counts.writtenBytes.Add(uint64(n))
	}
	return n, err
}

// Write writes at the file's position, or its end when it was opened so.
func (f *file) Write(ctx context.Context, bufs [][]byte) (int, error) {
	return f.write(ctx, func() (int, error) {
		if len(bufs) == 1 {
			return unix.Write(f.fd, bufs[0])
		}
		return unix.Writev(f.fd, bufs)
	})
}

// Pwrite writes at an offset.
func (f *file) Pwrite(ctx context.Context, bufs [][]byte, off int64) (int, error) {
	return f.write(ctx, func() (int, error) {
		if len(bufs) == 1 {
			return unix.Pwrite(f.fd, bufs[0], off)
		}
		return unix.Pwritev(f.fd, bufs, off)
	})
}

var whences = [...]int{io.SeekStart: unix.SEEK_SET, io.SeekCurrent: unix.SEEK_CUR, io.SeekEnd: unix.SEEK_END}

// Seek moves the file's position.
func (f *file) Seek(off int64, whence int) (int64, error) {
	return unix.Seek(f.fd, off, whences[whence])
}

var advices = [...]int{unix.FADV_NORMAL, unix.FADV_SEQUENTIAL, unix.FADV_RANDOM, unix.FADV_WILLNEED,
	unix.FADV_DONTNEED, unix.FADV_NOREUSE}

// Advise is taken and not acted on where it would be felt: what the page cache
// holds is shared with others (§2.4), so a unit doesn't get to fill or drop it.
func (f *file) Advise(off, length int64, advice uint8) error {
	if a := advices[advice]; a != unix.FADV_WILLNEED && a != unix.FADV_DONTNEED {
		return unix.Fadvise(f.fd, off, length, a)
	}
	return nil
}

// Allocate makes sure that there is room.
func (f *file) Allocate(ctx context.Context, off, length int64) error {
	return f.change(ctx, func() error { return unix.Fallocate(f.fd, 0, off, length) })
}

// SetSize cuts or grows the file.
func (f *file) SetSize(ctx context.Context, n int64) error {
	return f.change(ctx, func() error { return unix.Ftruncate(f.fd, n) })
}

// Sync writes the file to the disk.
func (f *file) Sync(ctx context.Context, dataOnly bool) error {
	if dataOnly {
		return f.change(ctx, func() error { return unix.Fdatasync(f.fd) })
	}
	return f.change(ctx, func() error { return unix.Fsync(f.fd) })
}

func (f *file) change(ctx context.Context, call func() error) error {
	if err := f.s.b.operation(ctx, true); err != nil {
		return err
	}
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// SetFlags turns appending on and off; the rest means nothing for a file.
func (f *file) SetFlags(flags wasi.Fdflags) error {
	have, err := unix.FcntlInt(uintptr(f.fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	want := have &^ unix.O_APPEND
	if flags&wasi.FlagAppend != 0 {
		want |= unix.O_APPEND
	}
	if want == have || have&unix.O_PATH != 0 {
		return nil
	}
	_, err = unix.FcntlInt(uintptr(f.fd), unix.F_SETFL, want)
	return err
}

// Stat looks at the file.
func (f *file) Stat(ctx context.Context) (wasi.Filestat, error) {
	if err := f.s.b.operation(ctx, false); err != nil {
		return wasi.Filestat{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return wasi.Filestat{}, err
	}
	return filestat(&st), nil
}

// SetTimes changes the file's times, which is a write however it was opened.
func (f *file) SetTimes(ctx context.Context, t wasi.Times) error {
	if err := f.s.b.may(grant.Write, f.path); err != nil {
		return err
	}
	return f.change(ctx, func() error { return setTimes(f.fd, t) })
}

// Close closes the file.
func (f *file) Close() error { return unix.Close(f.fd) }
