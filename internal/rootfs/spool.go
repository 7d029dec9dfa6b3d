package rootfs

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
)

// openArchive opens an archive. One that is packed is unpacked to a file without a
// name in the store first.
func openArchive(ctx context.Context, name string, spool func() (*os.File, error), b *budget) (*archive, io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no file")
	}
	if err == nil {
		f, err = unpackArchive(ctx, f, spool, b)
	}
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	a, err := readArchive(ctx, f, info.Size())
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return a, f, nil
}

// unpackArchive gives back the file, or another in its place.
func unpackArchive(ctx context.Context, f *os.File, spool func() (*os.File, error), b *budget) (*os.File, error) {
	var head [262]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return f, err
	}
	if n == len(head) && string(head[257:]) == "ustar" {
		return f, nil
	}
	packed := newBlob(io.NewSectionReader(f, 0, 1<<62), "", -1)
	r, err := unpack(packed)
	if err != nil {
		return f, err
	}
	defer r.Close()
	to, err := spool()
	if err != nil {
		return f, err
	}
	_, err = io.Copy(to, &bounded{from: withContext{ctx, r}, packed: packed, budget: b})
	if err != nil {
		to.Close()
		return f, err
	}
	f.Close()
	return to, nil
}

// withContext ends a long read between two reads.
type withContext struct {
	ctx context.Context
	io.Reader
}

func (r withContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
