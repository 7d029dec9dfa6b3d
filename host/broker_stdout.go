package host

import (
	"bytes"
	"context"
	"io"
	"os"
	"reflect"
	"sync"

	"github.com/joulebox/joulebox"
)

// ContextWriter is a writer that gives up when ctx ends. An output that is one
// is written to without a goroutine in between.
type ContextWriter interface {
	WriteContext(ctx context.Context, p []byte) (int, error)
}

// outputChunk is how much is handed to a writer that can block at a time.
const outputChunk = 64 << 10

// output is a unit's stdout or stderr. A reader that stalls stalls the unit and
// so counts against its time, but never keeps it alive: a writer that can block
// is called from a goroutine that a run can leave behind.
type output struct {
	w      io.Writer
	direct bool
	hash   digest
	turn   *turn // of two outputs with one writer; nil is its own

	once   sync.Once
	jobs   chan []byte
	done   chan writeResult
	chunk  []byte
	broken error // once a write was left behind, nothing can follow it
}

// turn is whose write it is.
type turn struct {
	sync.Mutex
	broken error
}

type writeResult struct {
	n   int
	err error
}

func newOutput(w io.Writer) *output {
	if w == nil {
		w = io.Discard
	}
	return &output{w: w, direct: takesAtOnce(w)}
}

// newOutputs are a unit's two. Where they are one writer, as with a terminal or a
// buffer for both, it is called by one of them at a time: the programs of a native
// unit write at the same time.
func newOutputs(stdout, stderr io.Writer) (out, err *output) {
	out, err = newOutput(stdout), newOutput(stderr)
	if v := reflect.ValueOf(stdout); v.IsValid() && v.Comparable() && stdout == stderr {
		out.turn = new(turn)
		err.turn = out.turn
	}
	return out, err
}

func takesAtOnce(w io.Writer) bool {
	switch w := w.(type) {
	case *bytes.Buffer:
		return true
	case *os.File:
		info, err := w.Stat()
		return err == nil && info.Mode().IsRegular()
	}
	return w == io.Discard
}

// Write writes all of the buffers, or says how far it came.
func (o *output) Write(ctx context.Context, bufs [][]byte) (total int, err error) {
	for _, b := range bufs {
		n, err := o.write(ctx, b)
		o.hash.write(b[:n])
		total += n
		if err != nil {
			if total > 0 {
				err = nil // a short write; the error comes again with the next
			}
			return total, err
		}
	}
	return total, nil
}

func (o *output) write(ctx context.Context, p []byte) (int, error) {
	if o.turn != nil {
		o.turn.Lock()
		defer o.turn.Unlock()
		if o.turn.broken != nil {
			return 0, o.turn.broken
		}
	}
	if o.direct {
		return o.w.Write(p)
	}
	if w, ok := o.w.(ContextWriter); ok {
		return w.WriteContext(ctx, p)
	}
	total := 0
	for len(p) > 0 {
		n, err := o.hand(ctx, p[:min(len(p), outputChunk)])
		total, p = total+n, p[n:]
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// hand has the goroutine write a copy of p: guest memory is gone when a run that
// was left behind still writes.
func (o *output) hand(ctx context.Context, p []byte) (int, error) {
	if o.broken != nil {
		return 0, o.broken
	}
	o.once.Do(func() {
		o.jobs, o.done = make(chan []byte), make(chan writeResult, 1)
		o.chunk = make([]byte, outputChunk)
		go serveWrites(o.w, o.jobs, o.done)
	})
	o.jobs <- o.chunk[:copy(o.chunk, p)]
	select {
	case r := <-o.done:
		if r.err == nil && r.n < len(p) {
			r.err = io.ErrShortWrite
		}
		return min(max(r.n, 0), len(p)), r.err
	case <-ctx.Done():
		o.broken = ctx.Err()
		if o.turn != nil {
			o.turn.broken = o.broken
		}
		return 0, o.broken
	}
}

func serveWrites(w io.Writer, jobs <-chan []byte, done chan<- writeResult) {
	for p := range jobs {
		n, err := w.Write(p)
		done <- writeResult{n, err}
	}
}

func (o *output) close() {
	if o.jobs != nil {
		close(o.jobs)
		o.jobs = nil
		o.broken = os.ErrClosed
	}
}

// Read is what an output can't.
func (o *output) Read(context.Context, [][]byte) (int, error) { return 0, os.ErrInvalid }

// Ready says that output is taken at once, or waited for in the write.
func (o *output) Ready() (int, <-chan struct{}) { return 1, nil }

// digest is the address of a stream.
type digest struct{ h *joulebox.Hasher }

func (d *digest) write(p []byte) {
	if d.h == nil {
		d.h = joulebox.NewHasher()
	}
	d.h.Write(p)
}

func (d *digest) id() joulebox.ID {
	if d.h == nil {
		return joulebox.Sum(nil)
	}
	return d.h.ID()
}
