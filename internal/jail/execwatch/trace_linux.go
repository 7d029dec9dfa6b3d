package execwatch

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tracer is the one thread that may handle a tree's stops.
type tracer struct {
	*judge
	wait  int // flags of wait4
	entry bool

	starter starter

	mu    sync.Mutex
	alive map[int]bool // threads that have stopped and not been reaped
}

func newTracer(o Options, wait int) *tracer {
	return &tracer{judge: newJudge(o), wait: wait | unix.WALL, entry: true, alive: map[int]bool{}}
}

// loop handles stops until there is nothing left to wait for.
func (t *tracer) loop() error {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		tid, err := syscall.Wait4(-1, &status, t.wait, &usage)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return os.NewSyscallError("wait4", err)
		case status.Exited() || status.Signaled():
			t.forget(tid)
			t.Ended(tid, status, usage)
			err = t.left(tid)
		case status.Stopped():
			t.know(tid)
			err = t.stop(tid, status)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("thread %d, status %#x: %w", tid, uint32(status), err)
		}
	}
}

// stop lets a thread go on as if it had not been stopped, unless it is about to
// run what it may not. ESRCH says that it was killed meanwhile.
func (t *tracer) stop(tid int, status syscall.WaitStatus) error {
	event, signal := int(uint32(status)>>16), status.StopSignal()
	if t.starter.leaving[tid] {
		if event != 0 {
			signal = 0
		}
		return errors.Join(ignoreGone(ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(signal))), t.left(tid))
	}
	switch event {
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		if t.starter.pid != 0 && process(tid).group() == t.starter.pid {
			return t.letGo(tid)
		}
	case 0:
		return ptrace(unix.PTRACE_CONT, tid, 0, uintptr(signal)) // its signal, passed on
	case unix.PTRACE_EVENT_EXEC:
		return t.exec(tid)
	case unix.PTRACE_EVENT_STOP:
		if stopsGroup(signal) {
			return ptrace(ptraceListen, tid, 0, 0) // it stays stopped, and a SIGCONT is heard
		}
	}
	return ptrace(unix.PTRACE_CONT, tid, 0, 0)
}

func stopsGroup(s syscall.Signal) bool {
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}

// exec decides a process in execve. It has one thread by now, whose number is the
// process's.
func (t *tracer) exec(pid int) error {
	if old, err := unix.PtraceGetEventMsg(pid); err == nil && int(old) != pid {
		t.forget(int(old)) // the thread that called took the number of the first, and is not reaped under its own
	}
	if pid == t.starter.pid {
		t.starter.pid = 0 // it is the unit itself
	}
	if len(t.starter.leaving) > 0 {
		t.starter.waits = append(t.starter.waits, pid)
		return nil
	}
	entry := t.entry
	t.entry = false
	if !t.stopped(process(pid), entry) {
		return unix.Kill(pid, unix.SIGKILL)
	}
	return ptrace(unix.PTRACE_CONT, pid, 0, 0)
}

func (t *tracer) know(tid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alive[tid] = true
}

func (t *tracer) forget(tid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.alive, tid)
}

// kill ends all that is traced. A number in alive isn't anyone else's yet.
func (t *tracer) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tid := range slices.Collect(maps.Keys(t.alive)) {
		_ = unix.Kill(tid, unix.SIGKILL)
	}
}
