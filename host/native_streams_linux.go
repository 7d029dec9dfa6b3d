package host

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail/cell"
)

// pipeSize is what a unit can write ahead of its reader.
const pipeSize = 1 << 20

// nativeStreams are a native unit's standard streams. It has pipes, or a terminal,
// and not what was handed over: the record has the bytes that went through.
type nativeStreams struct {
	broker *Broker
	stdin  *os.File // the unit's end, until it has it
	feed   *feed    // nil for an empty input
	out    [2]*drain
	cancel context.CancelFunc
	tty    *TTY
	master *os.File
	typing sync.WaitGroup
}

// drain takes what a unit writes to one stream.
type drain struct {
	to     *output
	ours   *os.File
	theirs *os.File // until the unit has it
	done   sync.WaitGroup
}

func newNativeStreams(b *Broker) (s *nativeStreams, err error) {
	s = &nativeStreams{broker: b, tty: b.config.TTY, cancel: func() {}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err = s.openInput(); err != nil {
		return s, err
	}
	for i, to := range []*output{b.stdout, b.stderr} {
		if s.out[i], err = newDrain(to); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *nativeStreams) openInput() (err error) {
	in := s.broker.stdin
	if in.manner() == stdinEmpty || s.tty != nil {
		s.stdin, err = os.Open(os.DevNull)
		return err
	}
	if s.feed, err = newFeed(in); err != nil {
		return err
	}
	if err = s.feed.watchInside(); err != nil {
		return err
	}
	// The unit's end blocks, as every program expects of its input.
	if err := unix.SetNonblock(s.feed.theirs, false); err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	s.stdin = os.NewFile(uintptr(s.feed.theirs), "stdin")
	s.feed.theirs = -1
	return nil
}

func newDrain(to *output) (*drain, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if c, err := theirs.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) }) // or it stays at the kernel's size
	}
	return &drain{to: to, ours: ours, theirs: theirs}, nil
}

// into hands the unit's ends over.
func (s *nativeStreams) into(spec *cell.Spec) {
	if s.tty != nil {
		spec.Terminal = &cell.Size{Rows: s.tty.Window.Rows, Cols: s.tty.Window.Columns}
		return
	}
	spec.Stdin, spec.Stdout, spec.Stderr = s.stdin, s.out[0].theirs, s.out[1].theirs
}

// begin is called once the unit has its ends. A reader that doesn't read the
// unit's output holds it up until its time is over, and no longer.
func (s *nativeStreams) begin(ctx context.Context, c *cell.Cell, wall time.Duration) {
	ctx, s.cancel = context.WithTimeout(ctx, wall)
	s.stdin.Close()
	s.stdin = nil
	for _, d := range s.out {
		d.theirs.Close()
	}
	if s.tty != nil {
		s.beginTerminal(ctx, c)
		return
	}
	if s.feed != nil {
		s.feed.begin(ctx)
	}
	for _, d := range s.out {
		d.done.Go(func() { d.run(ctx, d.ours) })
	}
}

// beginTerminal joins the unit's terminal to the input and the output. What is
// typed goes through it as bytes, so that the unit's own terminal makes signals of
// them.
func (s *nativeStreams) beginTerminal(ctx context.Context, c *cell.Cell) {
	s.master = c.Terminal()
	s.out[0].done.Go(func() { s.out[0].run(ctx, s.master) })
	s.out[1].ours.Close()
	go s.resize(ctx, c)
	s.typing.Go(func() { s.typeIn(ctx) })
}

func (s *nativeStreams) resize(ctx context.Context, c *cell.Cell) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-s.tty.Resized:
			_ = c.Resize(cell.Size{Rows: w.Rows, Cols: w.Columns}) // it may be gone
		}
	}
}

// endOfInput is what a terminal takes for the end of what is typed (VEOF).
const endOfInput = 4

func (s *nativeStreams) typeIn(ctx context.Context) {
	buf := make([]byte, 4096)
	for {
		n, err := s.broker.stdin.Read(ctx, [][]byte{buf})
		if n == 0 || err != nil {
			if ctx.Err() == nil {
				_, _ = s.master.Write([]byte{endOfInput})
			}
			return
		}
		if _, err := s.master.Write(buf[:n]); err != nil {
			return
		}
	}
}

// run passes on what is written. When its reader has gone, so has the unit's.
func (d *drain) run(ctx context.Context, from *os.File) {
	defer from.Close()
	buf := make([]byte, outputChunk)
	for {
		n, err := from.Read(buf)
		for p := buf[:n]; len(p) > 0; {
			w, err := d.to.Write(ctx, [][]byte{p})
			if err != nil || w == 0 {
				return
			}
			p = p[w:]
		}
		if err != nil { // a terminal without a program on its other side says EIO
			return
		}
	}
}

// finish waits for the rest of the output of a unit that is gone, whole tree and
// all, and settles how much of its input it took.
func (s *nativeStreams) finish() {
	for _, d := range s.out {
		d.done.Wait()
	}
	s.cancel()
	s.typing.Wait()
	if s.feed != nil {
		left := s.feed.halt()
		s.feed.settle(s.feed.sent - min(left, s.feed.sent-s.feed.settled))
		s.feed.giveBack()
	}
}

// close is for a unit that never began.
func (s *nativeStreams) close() {
	s.cancel()
	if s.stdin != nil {
		s.stdin.Close()
	}
	s.feed.stop() // nil is no input
	for _, d := range s.out {
		if d != nil {
			d.theirs.Close()
			d.ours.Close()
		}
	}
}
