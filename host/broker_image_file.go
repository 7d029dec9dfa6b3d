package host

import (
	"context"
	"io"
	"syscall"

	"github.com/joulebox/joulebox/internal/wasi"
)

// imageFile is an open file of the image.
type imageFile struct {
	unwritable
	b       *Broker
	node    *imageNode
	content Content
	at      int64
}

// Read reads at the file's position.
func (f *imageFile) Read(ctx context.Context, bufs [][]byte) (int, error) {
	n, err := f.Pread(ctx, bufs, f.at)
	f.at += int64(n)
	return n, err
}

// Pread reads at an offset.
func (f *imageFile) Pread(_ context.Context, bufs [][]byte, off int64) (total int, err error) {
	f.b.counts.reads.Add(1)
	for _, b := range bufs {
		n, err := f.content.ReadAt(b, off)
		total, off = total+n, off+int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return total, syscall.EIO
		}
	}
	f.b.counts.readBytes.Add(uint64(total))
	return total, nil
}

// Seek moves the file's position.
func (f *imageFile) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += f.at
	case io.SeekEnd:
		off += f.content.Size()
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	f.at = off
	return off, nil
}

// Stat looks at the file.
func (f *imageFile) Stat(context.Context) (wasi.Filestat, error) {
	f.b.counts.reads.Add(1)
	return f.b.config.Image.stat(f.node), nil
}

// Advise is taken and not acted on.
func (f *imageFile) Advise(int64, int64, uint8) error { return nil }

// Sync has nothing to do.
func (f *imageFile) Sync(context.Context, bool) error { return nil }

// SetFlags means nothing for what can't be written.
func (f *imageFile) SetFlags(wasi.Fdflags) error { return nil }

// Close has nothing to close: the content is the image's.
func (f *imageFile) Close() error { return nil }
