package execwatch

import (
	"errors"

	"golang.org/x/sys/unix"
)

// starter is a process that starts a unit and isn't of it: a cell's first. It is
// traced until its first child is, and let go then, so that others can wait for it.
type starter struct {
	pid     int
	leaving map[int]bool // threads that are to be let go at their next stop
	waits   []int        // processes that stand in execve until then
}

// letGo lets the starter go, whose thread tid has made the first child.
func (t *tracer) letGo(tid int) error {
	list, err := process(t.starter.pid).threads()
	if err != nil {
		return err
	}
	t.starter.leaving = map[int]bool{}
	for _, other := range list {
		if other != tid {
			t.starter.leaving[other] = true
		}
	}
	t.starter.pid = 0
	for other := range t.starter.leaving {
		if ptrace(unix.PTRACE_INTERRUPT, other, 0, 0) != nil {
			delete(t.starter.leaving, other) // gone
		}
	}
	t.forget(tid)
	return ptrace(unix.PTRACE_DETACH, tid, 0, 0)
}

// left forgets a thread of the starter that was let go or ended. With the last of
// them, what stands in execve is decided.
func (t *tracer) left(tid int) error {
	if !t.starter.leaving[tid] {
		return nil
	}
	t.forget(tid)
	delete(t.starter.leaving, tid)
	if len(t.starter.leaving) > 0 {
		return nil
	}
	waits := t.starter.waits
	t.starter.waits = nil
	var errs []error
	for _, pid := range waits {
		errs = append(errs, ignoreGone(t.exec(pid)))
	}
	return errors.Join(errs...)
}
