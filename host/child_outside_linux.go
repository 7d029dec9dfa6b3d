package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/hostcall"
)

// ask asks the supervisor and waits for its reply, which doesn't fail to come:
// the supervisor ends whatever it does for a run with the run. That its clock is
// ahead of this one's must not look to the unit like a failure of what it asked
// for, so then the end is waited for here too.
func (h *hosted) ask(c *call) ([]byte, error) {
	if err := h.channel.send(kindCall, c); err != nil {
		h.lost(err)
	}
	k, payload, err := h.channel.receive()
	if err != nil {
		h.lost(err)
	}
	var r reply
	if err := decode(payload, &r); err != nil || k != kindAnswer {
		h.lost(fmt.Errorf("%w: message %#x: %v", errNonsense, byte(k), err))
	}
	if r.Code == codeOver {
		<-h.over
		return nil, context.DeadlineExceeded
	}
	if r.Code != 0 {
		return nil, hostcall.Code(-int32(r.Code))
	}
	return r.Data, nil
}

// lost ends a process that has no supervisor any more.
func (h *hosted) lost(err error) {
	fmt.Fprintln(os.Stderr, "supervisor:", err)
	os.Exit(1)
}

func (h *hosted) egress(_ context.Context, endpoint string, request, response []byte) (int, error) {
	got, err := h.ask(&call{Ask: askEgress, Name: []byte(endpoint), Data: request, Most: uint32(len(response))})
	return copy(response, got), err
}

// remoteKV is a store that the supervisor keeps.
type remoteKV struct{ h *hosted }

func (r remoteKV) Get(_ context.Context, key []byte) ([]byte, bool, error) {
	v, err := r.h.ask(&call{Ask: askGet, Name: key})
	if errors.Is(err, hostcall.NotFound) {
		return nil, false, nil
	}
	return v, err == nil, err
}

func (r remoteKV) Put(_ context.Context, key, value []byte) error {
	_, err := r.h.ask(&call{Ask: askPut, Name: key, Data: value})
	return err
}

// remoteContent is a file of the unit's image.
type remoteContent struct {
	h    *hosted
	id   joulebox.ID
	size int64
}

func (c *remoteContent) Size() int64 { return c.size }

func (c *remoteContent) ReadAt(p []byte, off int64) (total int, err error) {
	for total < len(p) {
		if off < 0 || off >= c.size {
			return total, io.EOF
		}
		most := min(len(p)-total, hostcall.MaxTransfer)
		got, err := c.h.ask(&call{Ask: askContent, Name: c.id[:], At: uint64(off), Most: uint32(most)})
		if err != nil || len(got) == 0 {
			return total, errors.Join(syscall.EIO, err)
		}
		n := copy(p[total:], got)
		total, off = total+n, off+int64(n)
	}
	return total, nil
}

// handedOutput is a stream that the supervisor writes to where it leads. Bytes go
// in the same socket as everything else, so that what a unit writes to two
// streams comes out in the order in which it was written.
type handedOutput struct {
	h      *hosted
	stream byte
}

// WriteContext sends bytes on, as far as ctx lets it. An error of the supervisor's
// own write comes with a write after that one, as with any pipe.
func (o *handedOutput) WriteContext(ctx context.Context, p []byte) (total int, err error) {
	for len(p) > 0 {
		if errno := syscall.Errno(o.h.page.failed[o.stream].Load()); errno == syscall.ECANCELED {
			<-o.h.over
			return total, context.DeadlineExceeded
		} else if errno != 0 {
			return total, errno
		}
		n := min(len(p), outputChunk)
		if err := o.h.channel.output(o.stream, p[:n], ctx.Err); err != nil {
			return total, err
		}
		total, p = total+n, p[n:]
	}
	return total, nil
}

// Write is WriteContext without a context, for the journal.
func (o *handedOutput) Write(p []byte) (int, error) {
	return o.WriteContext(context.Background(), p)
}

// handedInput is a pipe that the supervisor fills once it is wanted: a unit that
// doesn't read leaves its input to whoever comes after it.
type handedInput struct {
	h      *hosted
	file   *os.File
	steady bool
	want   sync.Once
}

func (in *handedInput) Read(p []byte) (int, error) {
	in.want.Do(func() { _ = in.h.channel.send(kindStdin, empty{}) }) // without a supervisor the pipe ends too
	return in.file.Read(p)
}

// SetReadDeadline wakes a read, so that nothing is left of a run that ends.
func (in *handedInput) SetReadDeadline(t time.Time) error { return in.file.SetReadDeadline(t) }

// wake ends a read, and every later one.
func (in *handedInput) wake() { _ = in.SetReadDeadline(time.Unix(1, 0)) }
