package execwatch

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// asked is a tree whose calls the kernel asks about, at each file that an execve
// opens: before it keeps writers out of it. So that what is judged is what runs,
// writers are kept out by a lease from before it is read until the kernel does it;
// see guard.
type asked struct {
	*judge
	group
	namespace string // of mounts: who is in it belongs to the tree

	mu      sync.Mutex
	started bool          // the entrypoint's call has been seen
	calls   map[int]*call // by thread
}

// inode is a file, whatever its state.
type inode struct{ dev, ino uint64 }

// call is an execve that was let go on.
type call struct {
	entry bool
	guard *guard
	// next is what the kernel opens next in this call, if it goes on.
	next inode
	role Role
}

// startFanotify has the kernel ask about the mounts of a process that stands
// still. They must be its own, or the whole machine would be asked about.
func startFanotify(pid int, o Options) (*Watch, error) {
	p := process(pid)
	namespace, err := p.mountNamespace()
	if err != nil {
		return nil, err
	}
	if own, err := process(os.Getpid()).mountNamespace(); err != nil || own == namespace {
		return nil, errors.Join(fmt.Errorf("process %d has the mounts of this one; it needs a mount namespace of its own", pid), err)
	}
	if err := o.check(pid); err != nil {
		return nil, err
	}
	a, err := newAsked(namespace, o)
	if err != nil {
		return nil, err
	}
	if err := a.markMounts(p); err != nil {
		a.close()
		return nil, err
	}
	w := &Watch{mechanism: Fanotify, stop: a.close, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.err = a.serve()
	}()
	return w, nil
}

func newAsked(namespace string, o Options) (a *asked, err error) {
	a = &asked{judge: newJudge(o), namespace: namespace, calls: map[int]*call{}}
	a.group, err = newGroup()
	return a, err
}

func (p process) mountNamespace() (string, error) { return os.Readlink(p.proc("ns/mnt")) }

// close lets go what waits; the kernel allows it.
func (a *asked) close() {
	_ = a.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	for tid := range a.calls {
		a.end(tid)
	}
}

// serve answers until the group is closed or fails.
func (a *asked) serve() error {
	return a.listen(func(e event) { go a.answer(e, !a.member(e.tid) || a.opened(e)) })
}

// member reports whether a thread is of the tree. Who isn't, and only looks in, is
// answered at once.
func (a *asked) member(tid int) bool {
	namespace, err := process(tid).mountNamespace()
	return err != nil || namespace == a.namespace
}

func (a *asked) markMounts(p process) error {
	list, err := p.mounts()
	defer closeMounts(list)
	if err != nil {
		return err
	}
	for _, m := range list {
		if !m.executable {
			continue
		}
		if err := a.mark(unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN_EXEC_PERM, m.fd); err != nil {
			return fmt.Errorf("mount %q (%s) is neither noexec nor can it be watched: %w", m.at, m.kind, err)
		}
	}
	return nil
}

// opened decides a file that is opened to be run.
func (a *asked) opened(e event) bool {
	p, in := process(e.tid), Exec{PID: process(e.tid).group()}
	file, err := inodeOf(int(e.file.Fd()))
	if err != nil {
		return a.refuse(in, "%v", err)
	}
	in.Role, in.Entry = a.role(p, file)
	var g *guard
	if in.Role != Loader { // which can be written to afterwards all the same; see sealed
		if g, err = newGuard(e.file); err != nil {
			in.Path = pathOf(e.file)
			return a.refuse(in, "%v", err)
		}
	}
	content, ok := a.examine(e.file, in, g != nil)
	if !ok {
		g.release()
		return false
	}
	a.goesOn(p, file, content, &call{entry: in.Entry, guard: g})
	return true
}

// role is the part that a file has, and whether the call is the tree's first. That
// another file of the same call is due isn't enough to be that: the call may have
// failed for another reason, and this be a new one. The thread's place in the kernel
// tells.
func (a *asked) role(p process, file inode) (Role, bool) {
	a.mu.Lock()
	before := a.calls[int(p)]
	a.end(int(p)) // what was opened before is closed to writers by now, or won't run
	entry := !a.started
	a.started = true
	a.mu.Unlock()
	if before != nil && before.role != Program && before.next == file && p.opens(before.role) {
		return before.role, before.entry
	}
	return Program, entry
}

// goesOn notes what is due in a call, and follows it until it is done.
func (a *asked) goesOn(p process, file inode, v content, c *call) {
	switch {
	case v.script():
		c.role, c.next = Interpreter, p.inode(v.interpreter)
	case v.loader != "":
		c.role, c.next = Loader, p.inode(v.loader)
	case c.guard == nil:
		return // a loader is the last
	}
	a.mu.Lock()
	a.sweep()
	a.calls[int(p)] = c
	a.mu.Unlock()
	go a.follow(p, file, c)
}

// swept is how many calls there are before those of threads that are gone are
// looked for: a call that failed leaves what was due.
const swept = 1024

func (a *asked) sweep() {
	if len(a.calls) < swept {
		return
	}
	for tid := range a.calls {
		if _, err := os.Stat(process(tid).proc("")); err != nil {
			a.end(tid)
		}
	}
}

// end forgets a thread's call. It is called with the lock held.
func (a *asked) end(tid int) {
	if c := a.calls[tid]; c != nil {
		c.guard.release()
		delete(a.calls, tid)
	}
}

func inodeOf(fd int) (inode, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return inode{uint64(st.Dev), st.Ino}, os.NewSyscallError("fstat", err)
}

// inode is what a path leads to for the process, or nothing.
func (p process) inode(name string) inode {
	if !strings.HasPrefix(name, "/") {
		dir, err := os.Readlink(p.proc("cwd"))
		if err != nil {
			return inode{}
		}
		name = dir + "/" + name
	}
	fd, err := p.locate(name)
	if err != nil {
		return inode{}
	}
	defer unix.Close(fd)
	i, _ := inodeOf(fd)
	return i
}
