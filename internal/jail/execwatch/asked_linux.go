package execwatch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// asked is a tree whose calls the kernel asks about. Each file of an execve is
// asked about twice. When it is opened, writers may still come; so it is only
// noted then, and a question about its first read is asked for. By that read the
// kernel keeps the file from being written to, and only then it is hashed and
// decided.
type asked struct {
	*judge
	opens, reads group
	namespace    string // of mounts: who is in it belongs to the tree

	mu      sync.Mutex
	started bool          // the entrypoint's call has been seen
	calls   map[int]*call // by thread
	marked  map[inode]int // files whose first read is awaited, and by how many
}

// inode is a file, whatever its state.
type inode struct{ dev, ino uint64 }

// call is an execve under way.
type call struct {
	file  inode
	held  int // a descriptor of it until it is read, -1 then
	role  Role
	entry bool
	// next is what the kernel opens next in this call, if it goes on.
	next     inode
	nextRole Role
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
		w.err = a.listen()
	}()
	return w, nil
}

func newAsked(namespace string, o Options) (a *asked, err error) {
	a = &asked{judge: newJudge(o), namespace: namespace, calls: map[int]*call{}, marked: map[inode]int{}}
	if a.opens, err = newGroup(); err != nil {
		return nil, err
	}
	if a.reads, err = newGroup(); err != nil {
		return nil, errors.Join(err, a.opens.Close())
	}
	return a, nil
}

func (p process) mountNamespace() (string, error) { return os.Readlink(p.proc("ns/mnt")) }

// close lets go what waits; the kernel allows it.
func (a *asked) close() {
	_, _ = a.opens.Close(), a.reads.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.calls {
		a.settle(c)
	}
	clear(a.calls)
}

// listen answers until the groups are closed, or one of them fails.
func (a *asked) listen() error {
	ends := make(chan error, 2)
	for _, l := range []struct {
		group
		decide func(event) bool
	}{{a.opens, a.opened}, {a.reads, a.read}} {
		go func() {
			ends <- l.listen(func(e event) { go l.answer(e, !a.member(e.tid) || l.decide(e)) })
		}()
	}
	return <-ends
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
		if err := a.ask(m.fd, unix.FAN_MARK_MOUNT); err != nil {
			return fmt.Errorf("mount %q (%s) is neither noexec nor can it be watched: %w", m.at, m.kind, err)
		}
	}
	return nil
}

// ask asks for what is opened to be run from a mount, and for all reads but to be
// told of none: the kernel asks about the reads of a file only if it could have
// when the file was opened.
func (a *asked) ask(fd int, what uint) error {
	const silent = unix.FAN_MARK_IGNORED_MASK | unix.FAN_MARK_IGNORED_SURV_MODIFY
	if err := a.opens.mark(unix.FAN_MARK_ADD|what|silent, unix.FAN_ACCESS_PERM, fd); err != nil {
		return err
	}
	return a.opens.mark(unix.FAN_MARK_ADD|what, unix.FAN_OPEN_EXEC_PERM|unix.FAN_ACCESS_PERM, fd)
}

// opened notes a file that is opened to be run.
func (a *asked) opened(e event) bool {
	file, err := inodeOf(int(e.file.Fd()))
	if err != nil {
		return a.refuse(Exec{PID: e.tid, Path: pathOf(e.file)}, "%v", err)
	}
	held, err := unix.FcntlInt(e.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return a.refuse(Exec{PID: e.tid, Path: pathOf(e.file)}, "%v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &call{file: file, held: held, entry: !a.started}
	a.started = true
	if before := a.calls[e.tid]; before != nil {
		if before.next == file && before.nextRole != Program {
			c.role, c.entry = before.nextRole, before.entry
		}
		a.settle(before)
	}
	a.sweep()
	a.calls[e.tid] = c
	if a.marked[file]++; a.marked[file] > 1 {
		return true
	}
	if err := a.reads.mark(unix.FAN_MARK_ADD, unix.FAN_ACCESS_PERM, int(e.file.Fd())); err != nil {
		a.settle(c)
		delete(a.calls, e.tid)
		return a.refuse(Exec{PID: e.tid, Path: pathOf(e.file)}, "its first read can't be watched: %v", err)
	}
	return true
}

// read decides a file at the first read of an execve. Other reads of the same file
// are nobody's business.
func (a *asked) read(e event) bool {
	c := a.awaited(e)
	if c == nil {
		return true
	}
	in := Exec{PID: process(e.tid).group(), Role: c.role, Entry: c.entry}
	content, ok := a.examine(e.file, in, true)
	next, role := inode{}, Program
	switch p := process(e.tid); {
	case !ok:
	case content.script():
		next, role = p.inode(content.interpreter), Interpreter
	case content.loader != "":
		next, role = p.inode(content.loader), Loader
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settle(c)
	if c.next, c.nextRole = next, role; role == Program && a.calls[e.tid] == c {
		delete(a.calls, e.tid)
	}
	return ok
}

// awaited is the call that this read belongs to.
func (a *asked) awaited(e event) *call {
	file, err := inodeOf(int(e.file.Fd()))
	if err != nil {
		return nil
	}
	a.mu.Lock()
	c := a.calls[e.tid]
	a.mu.Unlock()
	if c == nil || c.held < 0 || c.file != file || !process(e.tid).inExecve() {
		return nil
	}
	return c
}

// settle stops waiting for the first read of a call's file. It is called with the
// lock held.
func (a *asked) settle(c *call) {
	if c.held < 0 {
		return
	}
	if a.marked[c.file]--; a.marked[c.file] == 0 {
		delete(a.marked, c.file)
		_ = a.reads.mark(unix.FAN_MARK_REMOVE, unix.FAN_ACCESS_PERM, c.held) // it may never have been there
	}
	unix.Close(c.held)
	c.held = -1
}

// swept is how many calls there may be before those of threads that ended are
// looked for. A call that failed leaves one.
const swept = 1024

func (a *asked) sweep() {
	if len(a.calls) < swept {
		return
	}
	for tid, c := range a.calls {
		if _, err := os.Stat(process(tid).proc("stat")); err != nil {
			a.settle(c)
			delete(a.calls, tid)
		}
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

// inExecve reports whether a thread that waits does so in execve. The number of its
// call is its own; no other thread can change it.
func (p process) inExecve() bool {
	b, err := os.ReadFile(p.proc("syscall"))
	if err != nil {
		return true
	}
	number, _, _ := strings.Cut(string(b), " ")
	nr, err := strconv.Atoi(number)
	return err != nil || nr == unix.SYS_EXECVE || nr == unix.SYS_EXECVEAT
}
