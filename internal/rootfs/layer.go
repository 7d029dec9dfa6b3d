package rootfs

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// sink takes the bytes of a layer's files.
type sink interface {
	// take reads size bytes of a file and keeps them; the content gets its address, and
	// where it is.
	take(r io.Reader, c *content) error
}

// layerStream is a layer as it is stored.
type layerStream struct {
	packed *blob
	diffID digest // of what it unpacks to
	budget *budget
}

// read gives what a layer does and hands its files to the sink. When it returns
// without an error every digest and size was right, and nothing but zeros came after
// the archive's end.
func (l layerStream) read(ctx context.Context, to sink) (ops []op, left LeftOut, err error) {
	unpacked, err := unpack(l.packed)
	if err != nil {
		return nil, left, err
	}
	defer unpacked.Close()
	whole := newBlob(&bounded{from: unpacked, packed: l.packed, budget: l.budget}, l.diffID, -1)
	hashing := newAhead(whole)
	defer hashing.close() // before unpacked is
	stream := bufio.NewReaderSize(hashing, 64<<10)
	for archive := tar.NewReader(stream); ; {
		if err := ctx.Err(); err != nil {
			return nil, left, err
		}
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, left, fmt.Errorf("tar: %w", err)
		}
		o, err := l.entry(h, archive, to, &left)
		if err != nil {
			return nil, left, err
		}
		if o != nil {
			ops = append(ops, *o)
		}
	}
	if err := onlyZeros(stream); err != nil {
		return nil, left, err
	}
	return ops, left, l.packed.finish()
}

func (l layerStream) entry(h *tar.Header, r io.Reader, to sink, left *LeftOut) (*op, error) {
	if err := l.budget.entry(len(h.Name) + len(h.Linkname)); err != nil {
		return nil, err
	}
	o, err := opOf(h, l.budget.Depth, left)
	if err != nil || o == nil || o.kind != putFile {
		return o, err
	}
	if err := l.budget.file(h.Size); err != nil {
		return nil, fmt.Errorf("%q: %w", o.path, err)
	}
	o.file = &content{mode: o.mode, size: h.Size}
	if err := to.take(r, o.file); err != nil {
		return nil, fmt.Errorf("%q: %w", o.path, err)
	}
	return o, nil
}

// onlyZeros reads what comes after an archive's end: padding, or something that
// another reader would take for more entries.
func onlyZeros(r io.Reader) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return errors.New("tar: something follows the end of the archive")
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("tar: %w", err)
		}
	}
}

// finish reads to the end, which shows whether size and digest are right. What
// unpacks a blob may have stopped before.
func (b *blob) finish() error {
	n, err := io.Copy(io.Discard, b)
	if err == nil && n > 0 {
		err = fmt.Errorf("%s: %d bytes follow what it was packed from", b.want, n)
	}
	return err
}
