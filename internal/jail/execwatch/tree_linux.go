package execwatch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Started is a process that stands still, and has said so: one that was only just
// started may still be in the execve that made it.
type Started struct {
	PID int
	// Release lets it go on to its execve; it may do nothing else before. Nil says
	// that it was started with [syscall.SysProcAttr.Ptrace] and stands in execve.
	Release func() error
}

// Trace starts a process, decides every execve of it and of all that come of it,
// and waits for all children of the calling process until there is none. It is the
// loop of a process that does nothing else, the first one of a pid namespace say;
// it owns wait4. The tree ends when this process does. A process that is refused
// gets SIGKILL before its first instruction.
//
// Start is called on the thread that traces.
func Trace(start func() (Started, error), o Options) error {
	runtime.LockOSThread() // for good: when the thread ends, what it traces does
	s, err := start()
	if err != nil {
		return err
	}
	t := newTracer(o, 0)
	take := t.release
	if s.Release == nil {
		take = t.upgrade
	}
	if err = o.check(s.PID); err == nil {
		err = take(s)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("tracing process %d: %w", s.PID, err), unix.Kill(s.PID, unix.SIGKILL))
	}
	return t.loop()
}

func (t *tracer) release(s Started) error {
	if err := seizeAll(s.PID); err != nil {
		return err
	}
	t.know(s.PID)
	return s.Release()
}

// upgrade takes over a process that asked to be traced, which is the older way: it
// knows no job control. It stays stopped in between, and runs nothing.
func (t *tracer) upgrade(s Started) error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(s.PID, &status, unix.WALL, nil); err != nil {
		return os.NewSyscallError("wait4", err)
	}
	if !status.Stopped() || status.StopSignal() != unix.SIGTRAP {
		return fmt.Errorf("got status %#x, want a stop in execve: start it with SysProcAttr.Ptrace", uint32(status))
	}
	if err := ptrace(unix.PTRACE_DETACH, s.PID, 0, uintptr(unix.SIGSTOP)); err != nil {
		return err
	}
	if err := seize(s.PID); err != nil {
		return err
	}
	t.know(s.PID)
	t.entry = false
	if !t.stopped(process(s.PID), true) {
		return unix.Kill(s.PID, unix.SIGKILL)
	}
	return unix.Kill(s.PID, unix.SIGCONT)
}

// Reap is [Trace] without tracing: it starts a process and waits for all children
// until there is none.
func Reap(start func() (Started, error), ended Ended) error {
	s, err := start()
	if err != nil {
		return err
	}
	if s.Release != nil {
		if err := s.Release(); err != nil {
			return err
		}
	}
	return newTracer(Options{Ended: ended}, 0).loop()
}

// onChildlessThread runs f on a thread that has no children, and ends the thread
// with it and so what it traces. A thread that has started processes for others
// would take their ends.
func onChildlessThread(f func()) {
	runtime.LockOSThread()
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL|unix.WNOTHREAD, nil)
	if errors.Is(err, unix.ECHILD) && unix.Gettid() != unix.Getpid() { // the first thread inherits children
		f()
		return
	}
	found := make(chan struct{})
	go onChildlessThread(func() { close(found); f() })
	<-found // this thread stays taken until then, so that the next is another
	runtime.UnlockOSThread()
}

// startPtrace traces a process that stands still, from outside of it.
func startPtrace(pid int, o Options) (*Watch, error) {
	if err := o.check(pid); err != nil {
		return nil, err
	}
	t := newTracer(o, unix.WNOTHREAD) // other children of this process are others' to wait for
	t.starter.pid = pid
	w := &Watch{mechanism: Ptrace, stop: t.kill, done: make(chan struct{})}
	taken := make(chan error, 1)
	go onChildlessThread(func() {
		defer close(w.done)
		err := seizeAll(pid)
		t.know(pid)
		taken <- err
		if err == nil {
			w.err = t.loop()
		}
	})
	if err := <-taken; err != nil {
		return nil, fmt.Errorf("tracing process %d: %w", pid, err)
	}
	return w, nil
}

// check refuses a view in which hashes couldn't bind.
func (o Options) check(pid int) error {
	if !o.Sealed {
		return nil
	}
	return CheckMounts(pid)
}
