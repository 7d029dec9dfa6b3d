package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasi"
)

func TestStdinMebibyteThroughAPipe(t *testing.T) {
	in := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	r, w := io.Pipe()
	go func() {
		for rest := in; len(rest) > 0; {
			n, _ := w.Write(rest[:min(len(rest), 4097)])
			rest = rest[n:]
		}
		w.Close()
	}()
	u := newUnit(t, BrokerConfig{Grants: everything(), Stdin: r})
	var got []byte
	for {
		part, e := u.read(0, 100_000)
		if e != wasi.Success {
			t.Fatal(e)
		}
		if part == "" {
			break
		}
		got = append(got, part...)
	}
	if !bytes.Equal(got, in) {
		t.Errorf("got %d bytes, want the %d that were sent", len(got), len(in))
	}
	if id, _, _ := u.b.Digests(); id != joulebox.Sum(in) {
		t.Errorf("stdin digest: got %v, want %v", id, joulebox.Sum(in))
	}
}

func TestStdinDigestIsWhatWasDelivered(t *testing.T) {
	u := newUnit(t, BrokerConfig{Grants: everything(), Stdin: strings.NewReader("hello world")})
	if id, out, errID := u.b.Digests(); id != joulebox.Sum(nil) || out != id || errID != id {
		t.Errorf("before anything: got %v %v %v", id, out, errID)
	}
	if text, _ := u.read(0, 5); text != "hello" {
		t.Errorf("got %q", text)
	}
	if id, _, _ := u.b.Digests(); id != joulebox.Sum([]byte("hello")) {
		t.Errorf("got %v, want that of the five bytes", id)
	}
}

func TestBlockedStreamsEndWithTheRun(t *testing.T) {
	r, w, err := os.Pipe() // nobody writes; and nobody reads what is written
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	_, stuck := io.Pipe()
	u := newUnit(t, BrokerConfig{Grants: everything(), Stdin: r, Stdout: stuck})
	for _, what := range []func() wasi.Errno{
		func() wasi.Errno { _, e := u.read(0, 10); return e },
		func() wasi.Errno { _, e := u.write(1, "x"); return e },
		func() wasi.Errno { _, e := u.write(1, "after it was left behind"); return e },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		u.ctx = ctx
		begun := time.Now()
		u.want("blocked", what(), wasi.ECanceled)
		if d := time.Since(begun); d > 2*time.Second {
			t.Errorf("took %v after its context ended", d)
		}
		cancel()
	}
}

func TestCloseWakesTheReaderAndHandsItBack(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	b, err := NewBroker(BrokerConfig{Grants: everything(), Stdin: r})
	if err != nil {
		t.Fatal(err)
	}
	b.stdin.Ready() // begins to read
	time.Sleep(10 * time.Millisecond)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("later"))
	got := make(chan string, 1)
	go func() {
		buf := make([]byte, 10)
		for range 5000 { // until the deadline is taken back
			if n, err := r.Read(buf); err == nil {
				got <- string(buf[:n])
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	select {
	case text := <-got:
		if text != "later" {
			t.Errorf("got %q, want what was written after the run", text)
		}
	case <-time.After(30 * time.Second):
		t.Error("the reader isn't usable after the run")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriteErrorsHaveNames(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want wasi.Errno
	}{
		{&os.PathError{Op: "write", Err: syscall.EPIPE}, wasi.EPipe}, {io.ErrClosedPipe, wasi.EPipe},
		{syscall.ENOSPC, wasi.ENospc}, {errors.New("anything"), wasi.EIO}, {os.ErrClosed, wasi.EBadf},
	} {
		u := newUnit(t, BrokerConfig{Grants: everything(), Stdout: failing{tt.err}})
		_, e := u.write(1, "x")
		u.want(tt.err.Error(), e, tt.want)
		if _, id, _ := u.b.Digests(); id != joulebox.Sum(nil) {
			t.Errorf("%v: something was counted as written", tt.err)
		}
	}
}

func TestOutputIsStreamedAndHashed(t *testing.T) {
	r, w := io.Pipe()
	var errOut bytes.Buffer
	u := newUnit(t, BrokerConfig{Grants: everything(), Stdout: w, Stderr: &errOut})
	big := strings.Repeat("x\x00\xff", 50_000)
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(r)
		got <- all
	}()
	if n, e := u.write(1, big); n != len(big) || e != wasi.Success {
		t.Errorf("got %d, %v, want all of %d", n, e, len(big))
	}
	u.write(2, "oops")
	w.Close()
	if all := <-got; string(all) != big {
		t.Errorf("got %d bytes, want %d", len(all), len(big))
	}
	if _, out, errID := u.b.Digests(); out != joulebox.Sum([]byte(big)) || errID != joulebox.Sum([]byte("oops")) {
		t.Errorf("digests: got %v %v", out, errID)
	}
}

// TestOneWriterForBothOutputs: the programs of a native unit write at the same time,
// and a writer that is both its outputs is still called by one at a time.
func TestOneWriterForBothOutputs(t *testing.T) {
	var both bytes.Buffer
	out, err := newOutputs(&both, &both)
	var writers sync.WaitGroup
	for _, o := range []*output{out, err} {
		writers.Go(func() {
			for range 1000 {
				if _, err := o.Write(t.Context(), [][]byte{[]byte("a line\n")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if got := both.String(); got != strings.Repeat("a line\n", 2000) {
		t.Errorf("%d bytes, torn", len(got))
	}
	// One that is never taken leaves the other nothing to write to.
	r, w := io.Pipe()
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out, err = newOutputs(w, w)
	cancel()
	for _, o := range []*output{out, err} {
		if _, got := o.Write(ctx, [][]byte{[]byte("x")}); !errors.Is(got, context.Canceled) {
			t.Errorf("got %v", got)
		}
	}
	if err.jobs != nil {
		t.Error("a writer that somebody still waits in was called again")
	}
}

func TestStreamsAreTerminalsOnlyWhenTold(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		u := newUnit(t, BrokerConfig{Grants: everything(), Terminal: terminal})
		for fd := range uint64(3) {
			u.want("fdstat", u.call("fd_fdstat_get", fd, outPtr), wasi.Success)
			isTTY := u.g.mem[outPtr] == byte(wasi.TypeCharacterDevice) &&
				wasi.Rights(u.u64(outPtr+8))&(wasi.RightFdSeek|wasi.RightFdTell) == 0
			if isTTY != terminal {
				t.Errorf("descriptor %d: got isatty %v, want %v", fd, isTTY, terminal)
			}
			u.want("shutdown", u.call("sock_shutdown", fd, 1), wasi.ENotsock)
			u.want("seek", u.call("fd_seek", fd, 0, 0, outPtr), wasi.ESpipe)
		}
	}
	u := newUnit(t, BrokerConfig{Grants: everything()})
	u.want("shutdown of nothing", u.call("sock_shutdown", 99, 1), wasi.EBadf)
	u.want("accept", u.call("sock_accept", 0, 0, outPtr), wasi.ENotsock)
	_, e := u.write(0, "x")
	u.want("write to stdin", e, wasi.EBadf)
	_, e = u.read(1, 1)
	u.want("read from stdout", e, wasi.EBadf)
	_, e = u.write(3, "x")
	u.want("write to nothing", e, wasi.EBadf)
}

func TestPointersAreChecked(t *testing.T) {
	u := newUnit(t, BrokerConfig{Grants: everything(), Stdin: strings.NewReader("x"), Args: []string{"a"}, Env: []string{"A=B"}})
	const end = memory
	u.want("iovecs past the end", u.call("fd_write", 1, end-4, 1, outPtr), wasi.EFault)
	u.want("iovecs that wrap", u.call("fd_write", 1, 1<<32-8, 1, outPtr), wasi.EFault)
	u.want("iovecs whose size wraps", u.call("fd_write", 1, 0, 1<<29, outPtr), wasi.EInval)
	u.want("too many iovecs", u.call("fd_write", 1, 0, 1025, outPtr), wasi.EInval)
	u.want("buffer that wraps", u.call("fd_write", 1, u.iovec(1<<32-1, 1<<32-1), 1, outPtr), wasi.EFault)
	u.want("buffer past the end", u.call("fd_read", 0, u.iovec(end-1, 2), 1, outPtr), wasi.EFault)
	u.want("answer past the end", u.call("fd_read", 0, u.iovec(bufPtr, 1), 1, end-3), wasi.EFault)
	if text, _ := u.read(0, 5); text != "x" {
		t.Errorf("a call that failed took %q of the input", "x")
	}
	u.want("args", u.call("args_get", end-2, 0), wasi.EFault)
	u.want("args text", u.call("args_get", 0, end-1), wasi.EFault)
	u.want("sizes", u.call("environ_sizes_get", 0, end-1), wasi.EFault)
	u.want("random", u.call("random_get", end-1, 2), wasi.EFault)
	u.want("random that wraps", u.call("random_get", 8, 1<<32-1), wasi.EFault)
	u.want("time", u.call("clock_time_get", 0, 0, end-7), wasi.EFault)
	u.want("poll nothing", u.call("poll_oneoff", 0, 0, 0, outPtr), wasi.EInval)
	u.want("poll that wraps", u.call("poll_oneoff", 0, 0, 1<<32/48+1, outPtr), wasi.EInval)
	u.want("poll past the end", u.call("poll_oneoff", end-40, 0, 1, outPtr), wasi.EFault)
}
