package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// feed is the way of a unit's input into its host process: a pipe, filled from
// when the unit first wants some. What was written and what the unit has taken of
// it are two things, so the address of what it took is settled at the end.
type feed struct {
	in     *input
	theirs int // the process's end, until it was handed over
	pipe   *os.File
	window int      // bytes that can be on their way
	inside *os.File // the reader's end once more, which still tells what lies in the pipe when its writer has closed it; nil where the process says what it took

	cancel context.CancelFunc // nil before it is wanted
	done   chan struct{}

	read    uint64 // from where the input comes from
	sent    uint64
	settled uint64 // of what was sent, what the unit has certainly taken
	pending []byte // the rest
}

// feedChunk is how much is read and written at a time.
const feedChunk = 32 << 10

func newFeed(in *input) (*feed, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("host process: pipe: %w", err)
	}
	f := &feed{in: in, theirs: ends[0], pipe: os.NewFile(uintptr(ends[1]), "stdin")}
	capacity, err := unix.FcntlInt(uintptr(ends[0]), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		capacity = 1 << 20
	}
	f.window = capacity + 2*pumpSize
	return f, nil
}

// watchInside is for a reader that doesn't say what it took.
func (f *feed) watchInside() error {
	fd, err := unix.FcntlInt(uintptr(f.theirs), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	f.inside = os.NewFile(uintptr(fd), "stdin")
	return nil
}

func (f *feed) handedOver() {
	unix.Close(f.theirs)
	f.theirs = -1
}

// begin fills the pipe from now on.
func (f *feed) begin(ctx context.Context) {
	if f.cancel != nil {
		return
	}
	ctx, f.cancel = context.WithCancel(ctx)
	f.done = make(chan struct{})
	go f.run(ctx)
}

func (f *feed) run(ctx context.Context) {
	defer close(f.done)
	buf := make([]byte, feedChunk)
	for {
		n, err := f.in.read(ctx, [][]byte{buf})
		f.read += uint64(n)
		ok := f.write(buf[:n])
		if ctx.Err() != nil {
			return // the run ends, the input doesn't: the unit must not take the one for the other
		}
		if !ok || err != nil {
			f.pipe.Close()
			return
		}
	}
}

// write writes to the pipe, and remembers what it wrote.
func (f *feed) write(p []byte) bool {
	n, err := f.pipe.Write(p)
	f.sent += uint64(n)
	f.pending = append(f.pending, p[:n]...)
	if over := len(f.pending) - f.window; over > f.window {
		f.settle(f.settled + uint64(over))
		f.pending = append([]byte(nil), f.pending...)
	}
	return err == nil
}

// settle says that the unit has taken that many bytes in all, of which settled
// and pending know.
func (f *feed) settle(taken uint64) {
	n := taken - f.settled
	f.in.hash.write(f.pending[:n])
	f.pending, f.settled = f.pending[n:], taken
}

// stop ends the filling and returns once nothing of it is left. A nil feed is no
// input.
func (f *feed) stop() {
	if f == nil {
		return
	}
	if f.cancel != nil {
		f.cancel()
		_ = f.pipe.SetWriteDeadline(time.Unix(1, 0)) // it may be closed already
		<-f.done
	}
	f.pipe.Close()
	if f.inside != nil {
		f.inside.Close()
	}
}

// halt is stop for a pipe whose readers are gone. It returns how many bytes lie in
// it that nobody took.
func (f *feed) halt() (left uint64) {
	if f.cancel != nil {
		f.cancel()
		_ = f.pipe.SetWriteDeadline(time.Unix(1, 0))
		<-f.done
	}
	f.pipe.Close()
	if n, err := unix.IoctlGetInt(int(f.inside.Fd()), unix.TIOCINQ); err == nil {
		left = uint64(n)
	}
	f.inside.Close()
	return left
}

// giveBack leaves what the unit didn't take to whoever reads after it, where the
// input can be wound back.
func (f *feed) giveBack() {
	if s, ok := f.in.r.(io.Seeker); ok && f.in.direct && f.read > f.settled {
		_, _ = s.Seek(-int64(f.read-f.settled), io.SeekCurrent) // then it is gone, as with a pipe
	}
}

// manner is how the input comes.
func (in *input) manner() byte {
	if !in.direct {
		return stdinPumped
	}
	if r, ok := in.r.(interface{ Len() int }); ok && r.Len() == 0 {
		return stdinEmpty
	}
	return stdinSteady
}
