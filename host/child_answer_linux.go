package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/journal"
)

// output writes bytes of a stream to where it leads. What can't be written is
// known to the process from the shared page, before its next write.
func (r *jailedRun) output(payload []byte) error {
	if len(payload) == 0 || payload[0] >= streams {
		return fmt.Errorf("%w: output without a stream", errNonsense)
	}
	stream, p := payload[0], payload[1:]
	w, err := r.stream(stream, p)
	if err != nil || r.broken[stream] {
		return err
	}
	n, err := w.Write(r.hostContext(), [][]byte{p})
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		r.broken[stream] = true
		r.process.page.failed[stream].Store(uint32(errnoOf(err)))
		if stream == streamLog {
			r.job.Broker.log.dropped.Add(1)
		}
	}
	return nil
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && errno != 0:
		return errno
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return syscall.ECANCELED
	}
	return syscall.EIO
}

// writer is where a stream leads.
type writer interface {
	Write(ctx context.Context, bufs [][]byte) (int, error)
}

// stream finds where a stream leads, and holds the log and the journal to their
// caps, as the process should have.
func (r *jailedRun) stream(stream byte, p []byte) (writer, error) {
	b := r.job.Broker
	switch stream {
	case streamStdout:
		return b.stdout, nil
	case streamStderr:
		return b.stderr, nil
	case streamLog:
		if r.logged += len(p); r.logged > logBytes {
			return nil, fmt.Errorf("%w: a log of more than %d bytes", errNonsense, logBytes)
		}
		return b.log.out, nil
	}
	if b.journaling == nil {
		return nil, fmt.Errorf("%w: a journal that nobody asked for", errNonsense)
	}
	limit := b.config.Journal.Limit
	if limit == 0 {
		limit = journal.DefaultLimit
	}
	if r.journaled += int64(len(p)); r.journaled > limit {
		return nil, fmt.Errorf("%w: a journal of more than %d bytes", errNonsense, limit)
	}
	return plainWriter{b.config.Journal.W}, nil
}

// plainWriter is a writer that doesn't block.
type plainWriter struct{ w io.Writer }

func (w plainWriter) Write(_ context.Context, bufs [][]byte) (total int, err error) {
	for _, b := range bufs {
		n, err := w.w.Write(b)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// answer does what the process asks for. Whether it may be done is decided here,
// by the same grants: that the process has decided too is only its word.
func (r *jailedRun) answer(c *call) error {
	data, err := r.outside(c)
	if errors.Is(err, errNonsense) {
		return err
	}
	reply := reply{Data: data}
	if err != nil {
		code := hostcall.IO
		errors.As(err, &code)
		reply.Code, reply.Data = uint32(-int32(code)), nil
		if r.hostContext().Err() != nil {
			reply.Code = codeOver
		}
	}
	return r.process.channel.send(kindAnswer, &reply)
}

func (r *jailedRun) outside(c *call) ([]byte, error) {
	b, ctx := r.job.Broker, r.hostContext()
	if c.Most > hostcall.MaxTransfer {
		return nil, fmt.Errorf("%w: it has room for %d bytes", errNonsense, c.Most)
	}
	switch {
	case c.Ask == askEgress:
		response := make([]byte, c.Most)
		n, err := b.egress(ctx, string(c.Name), c.Data, response)
		return response[:n], err
	case c.Ask == askGet && !b.defaults.kv:
		return b.kvGet(ctx, c.Name)
	case c.Ask == askPut && !b.defaults.kv:
		return nil, b.kvPut(ctx, c.Name, c.Data)
	case c.Ask == askContent && b.config.Image != nil && len(c.Name) == len(joulebox.ID{}):
		return readContent(b.config.Image.Content(joulebox.ID(c.Name)), int64(c.At), int(c.Most))
	}
	return nil, fmt.Errorf("%w: it asks for %d", errNonsense, c.Ask)
}

func readContent(c Content, at int64, most int) ([]byte, error) {
	if c == nil || at < 0 {
		return nil, fmt.Errorf("%w: no such content", errNonsense)
	}
	p := make([]byte, most)
	n, err := c.ReadAt(p, at)
	if n > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	return p[:n], err
}
