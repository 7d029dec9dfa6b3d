package host

import (
	"context"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// pipeSize is what a unit can write ahead of its reader.
const pipeSize = 1 << 20

// nativeStreams are a native unit's standard streams. It has pipes and not what
// was handed over: the record has the bytes that went through them.
type nativeStreams struct {
	broker *Broker
	stdin  *os.File // the unit's end, until it has it
	feed   *feed    // nil for an empty input
	out    [2]*drain
	ctx    context.Context
	cancel context.CancelFunc
}

// drain takes what a unit writes to one stream.
type drain struct {
	to     *output
	ours   *os.File
	theirs *os.File // until the unit has it
	done   sync.WaitGroup
}

func newNativeStreams(ctx context.Context, b *Broker) (s *nativeStreams, err error) {
	s = &nativeStreams{broker: b}
	s.ctx, s.cancel = context.WithCancel(ctx)
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
	if in.manner() == stdinEmpty {
		s.stdin, err = os.Open(os.DevNull)
		return err
	}
	if s.feed, err = newFeed(in); err != nil {
		return err
	}
	// The unit's end blocks, as every program expects of its input.
	if err := unix.SetNonblock(s.feed.theirs, false); err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	s.stdin = os.NewFile(uintptr(s.feed.theirs), "stdin")
	return nil
}

func newDrain(to *output) (*drain, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if c, err := theirs.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) }) // or stay at the kernel's size
	}
	return &drain{to: to, ours: ours, theirs: theirs}, nil
}

// begin is called once the unit has its ends.
func (s *nativeStreams) begin() {
	s.stdin.Close()
	s.stdin = nil
	if s.feed != nil {
		s.feed.theirs = -1
		s.feed.begin(s.ctx)
	}
	for _, d := range s.out {
		d.theirs.Close()
		d.theirs = nil
		d.done.Go(func() { d.run(s.ctx) })
	}
}

// run passes on what is written. When its reader has gone, so has the unit's.
func (d *drain) run(ctx context.Context) {
	defer d.ours.Close()
	buf := make([]byte, outputChunk)
	for {
		n, err := d.ours.Read(buf)
		for p := buf[:n]; len(p) > 0; {
			w, err := d.to.Write(ctx, [][]byte{p})
			if err != nil || w == 0 {
				return
			}
			p = p[w:]
		}
		if err != nil {
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
	if s.feed != nil {
		left := s.feed.halt()
		s.feed.settle(s.feed.sent - min(left, s.feed.sent-s.feed.settled))
		s.feed.giveBack()
	}
	s.cancel()
}

// close is for a unit that never began.
func (s *nativeStreams) close() {
	s.cancel()
	if s.stdin != nil {
		s.stdin.Close()
	}
	if s.feed != nil {
		s.feed.theirs = -1
		s.feed.stop()
	}
	for _, d := range s.out {
		if d != nil {
			d.theirs.Close()
			d.ours.Close()
		}
	}
}
