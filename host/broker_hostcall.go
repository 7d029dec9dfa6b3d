package host

import (
	"context"
	"errors"
	"syscall"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/wasi"
)

// services is the broker as the "sandbox" interface.
type services struct{ b *Broker }

func (s services) Tolls() Tolls       { return s.b.config.Tolls }
func (s services) Recorder() Recorder { return s.b.config.Recorder }

func (s services) KVGet(ctx context.Context, key []byte) ([]byte, error) { return s.b.kvGet(ctx, key) }

func (s services) KVPut(ctx context.Context, key, value []byte) error {
	return s.b.kvPut(ctx, key, value)
}

func (s services) Egress(ctx context.Context, endpoint string, request, response []byte) (int, error) {
	return s.b.egress(ctx, endpoint, request, response)
}

func (s services) WallClock() (int64, error) { return s.b.clock.wall(), nil }

func (s services) RandomU64(ctx context.Context) (uint64, error) { return s.b.randomU64(ctx) }

func (s services) Log(ctx context.Context, level hostcall.Level, message []byte) error {
	return s.b.logLine(ctx, level, message)
}

func (s services) StorageRead(ctx context.Context, path string, p []byte, off int64) (int, error) {
	f, err := s.open(ctx, path, wasi.OpenHow{Follow: true, Read: true})
	if err != nil {
		return 0, storageCode(err)
	}
	defer f.Close()
	n, err := f.Pread(ctx, [][]byte{p}, off)
	return n, storageCode(err)
}

func (s services) StorageWrite(ctx context.Context, path string, p []byte, where hostcall.Where) (int, error) {
	how := wasi.OpenHow{Follow: true, Write: true, Create: true, Trunc: where == hostcall.Replace}
	if where == hostcall.Append {
		how.Flags = wasi.FlagAppend
	}
	f, err := s.open(ctx, path, how)
	if err != nil {
		return 0, storageCode(err)
	}
	defer f.Close()
	n, err := writeAll(ctx, f, p, int64(where))
	return n, storageCode(err)
}

// writeAll writes at off, or at the file's own position when off is negative.
func writeAll(ctx context.Context, f wasi.File, p []byte, off int64) (total int, err error) {
	for len(p) > 0 {
		n := 0
		if off < 0 {
			n, err = f.Write(ctx, [][]byte{p})
		} else {
			n, err = f.Pwrite(ctx, [][]byte{p}, off+int64(total))
		}
		total, p = total+n, p[n:]
		if err != nil {
			return total, err
		}
		if n == 0 {
			return total, syscall.EIO
		}
	}
	return total, nil
}

// open opens a file by its guest path, from the root that holds it.
func (s services) open(ctx context.Context, path string, how wasi.OpenHow) (wasi.File, error) {
	p, err := grant.CanonicalPath(path)
	if err != nil {
		return nil, syscall.EINVAL
	}
	d, rest, err := s.root(p, how)
	if err != nil {
		return nil, err
	}
	f, sub, err := d.Open(ctx, rest, how)
	if err != nil {
		return nil, err
	}
	if sub != nil {
		sub.Close()
		return nil, syscall.EISDIR
	}
	return f, nil
}

// root is the directory that a path is opened from, and the path from there.
func (s services) root(p string, how wasi.OpenHow) (wasi.Dir, string, error) {
	if image := s.b.config.Image; image != nil && !image.root.lacks(p) {
		return s.b.imageRoot(), "." + p, nil
	}
	d, rest, err := s.b.storage.find(p, how)
	if err != nil {
		return nil, "", err
	}
	return d, rest, nil
}

var storageCodes = map[error]hostcall.Code{
	wasi.EAcces: hostcall.Denied, wasi.ENotcapable: hostcall.Denied,
	syscall.ENOENT: hostcall.NotFound, syscall.ENOTDIR: hostcall.NotFound, syscall.EISDIR: hostcall.Invalid,
	syscall.EINVAL: hostcall.Invalid, syscall.ENAMETOOLONG: hostcall.Invalid, syscall.ELOOP: hostcall.Invalid,
	syscall.EFBIG: hostcall.TooLarge, syscall.ENOSPC: hostcall.TooLarge, syscall.EDQUOT: hostcall.TooLarge,
	syscall.ENOSYS: hostcall.Unavailable, wasi.ENosys: hostcall.Unavailable,
}

func storageCode(err error) error {
	for known, code := range storageCodes {
		if errors.Is(err, known) {
			return code
		}
	}
	return err
}
