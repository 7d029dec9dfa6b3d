package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
)

// pumpSize is how far ahead of the unit a pump reads.
const pumpSize = 64 << 10

// input is a unit's stdin. A reader that can block is read by a goroutine of its
// own, so that the end of a run never waits for someone to type.
type input struct {
	r      io.Reader
	direct bool
	hash   digest
	given  uint64 // bytes that the unit has read

	mu      sync.Mutex
	started bool
	closed  bool
	data    []byte // read and not yet delivered
	err     error
	changed chan struct{} // closed when data or err comes
	taken   chan struct{} // has an item when data was delivered
	ended   chan struct{} // closed when the pump is gone
}

func newInput(r io.Reader) *input {
	if r == nil {
		r = strings.NewReader("")
	}
	return &input{r: r, direct: neverBlocks(r), changed: make(chan struct{}),
		taken: make(chan struct{}, 1), ended: make(chan struct{})}
}

// neverBlocks reports that reads come back at once. They then also come in the
// same parts in every run, which the count of instructions can depend on.
func neverBlocks(r io.Reader) bool {
	switch r := r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	case *os.File:
		info, err := r.Stat()
		return err == nil && info.Mode().IsRegular()
	case *handedInput:
		return r.steady
	}
	return false
}

// Read gives the first bytes there are; zero at the end.
func (in *input) Read(ctx context.Context, bufs [][]byte) (int, error) {
	n, err := in.read(ctx, bufs)
	if err == io.EOF {
		err = nil
	}
	left := n
	for _, b := range bufs {
		b = b[:min(left, len(b))]
		in.hash.write(b)
		left -= len(b)
	}
	in.given += uint64(n)
	if n > 0 {
		err = nil // an error comes again with the next read
	}
	return n, err
}

func (in *input) read(ctx context.Context, bufs [][]byte) (int, error) {
	if in.direct {
		return in.readNow(ctx, bufs)
	}
	for {
		n, changed, err := in.deliver(bufs)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// readNow reads what can be waited for here. A pipe from another process is filled
// only as long as that one counts the run as running, so the end of the run has to
// break the read off on this side too.
func (in *input) readNow(ctx context.Context, bufs [][]byte) (int, error) {
	if handed, ok := in.r.(*handedInput); ok {
		defer context.AfterFunc(ctx, handed.wake)()
	}
	n, err := readFull(in.r, bufs)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ctx.Err()
	}
	return n, err
}

// readFull fills the buffers from a reader that doesn't block.
func readFull(r io.Reader, bufs [][]byte) (total int, err error) {
	for _, b := range bufs {
		n, err := io.ReadFull(r, b)
		total += n
		if err != nil {
			if err == io.ErrUnexpectedEOF {
				err = io.EOF
			}
			return total, err
		}
	}
	return total, nil
}

// deliver moves what the pump has into the buffers, or says what to wait for.
func (in *input) deliver(bufs [][]byte) (int, <-chan struct{}, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.start()
	if len(in.data) == 0 {
		return 0, in.changed, in.err
	}
	total := 0
	for _, b := range bufs {
		n := copy(b, in.data)
		in.data = in.data[n:]
		total += n
	}
	if len(in.data) == 0 {
		select {
		case in.taken <- struct{}{}:
		default:
		}
	}
	return total, nil, nil
}

// Ready is how many bytes can be read at once, and a channel that closes when
// there are any; nil when a read comes back at once.
func (in *input) Ready() (int, <-chan struct{}) {
	if in.direct {
		return 1, nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.start()
	if len(in.data) > 0 || in.err != nil {
		return len(in.data), nil
	}
	return 0, in.changed
}

// Write is what stdin can't.
func (in *input) Write(context.Context, [][]byte) (int, error) { return 0, os.ErrInvalid }
