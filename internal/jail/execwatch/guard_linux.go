package execwatch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// guard keeps writers out of a file between its judgement and the point at which
// the kernel does, as it runs it. It is a read lease: it isn't to be had while
// anybody has the file open for writing, and who opens it so waits until the lease
// is given up; since they count as writers while they wait, an execve fails with
// ETXTBSY then. Readers notice nothing.
type guard struct{ fd int }

// How long an execve waits for those who write to the program, and those for it.
const (
	writersWait = 50 * time.Millisecond
	callWaits   = time.Second
)

// newGuard takes a lease. Where the file system knows none there is no guard, and
// the file is as good as its mount.
func newGuard(f *os.File) (*guard, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		switch {
		case err == nil:
			return &guard{fd}, nil
		case !errors.Is(err, unix.EAGAIN):
			unix.Close(fd)
			return nil, nil
		case time.Since(began) > writersWait:
			unix.Close(fd)
			return nil, fmt.Errorf("it is open for writing: %w", unix.ETXTBSY)
		}
	}
}

func (g *guard) release() {
	if g != nil && g.fd >= 0 {
		unix.Close(g.fd) // the last descriptor, and so the lease
		g.fd = -1
	}
}

// breaking reports whether a writer waits.
func (g *guard) breaking() bool {
	kind, err := unix.FcntlInt(uintptr(g.fd), unix.F_GETLEASE, 0)
	return err != nil || kind != unix.F_RDLCK
}

// follow waits until a call has come to where the kernel keeps writers out, or has
// failed, and gives its lease up. A writer that has waited for a call for too long
// gets its turn, and the process never another.
func (a *asked) follow(p process, file inode, c *call) {
	var waiting time.Time
	for delay := time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
		time.Sleep(delay)
		beyond := p.beyond(file)
		a.mu.Lock()
		current := a.calls[int(p)] == c
		switch {
		case !current || beyond:
		case c.guard == nil || !c.guard.breaking():
			a.mu.Unlock()
			continue
		case waiting.IsZero() || time.Since(waiting) < callWaits:
			a.mu.Unlock()
			if waiting.IsZero() {
				waiting = time.Now()
			}
			continue
		default:
			_ = unix.Kill(int(p), unix.SIGKILL)
		}
		if current {
			c.guard.release()
			if c.role == Program { // nothing more is due
				delete(a.calls, int(p))
			}
		}
		a.mu.Unlock()
		return
	}
}

// beyond reports whether a thread runs that file, does something else than to call
// execve, or is gone. If it ran the file before, writers are kept out by that.
func (p process) beyond(file inode) bool {
	var st unix.Stat_t
	if err := unix.Stat(p.proc("exe"), &st); err != nil || (inode{uint64(st.Dev), st.Ino}) == file {
		return true
	}
	b, err := os.ReadFile(p.proc("syscall"))
	number, _, _ := strings.Cut(string(b), " ")
	nr, notNumber := strconv.Atoi(number) // it isn't when the thread runs, in the kernel or not
	return err != nil || notNumber == nil && nr != unix.SYS_EXECVE && nr != unix.SYS_EXECVEAT
}

// opens reports whether the thread is where the kernel opens an interpreter or a
// loader for the file that was called, and not where it opens that. It has asked and
// is about to wait; until it does, its place can't be told.
func (p process) opens(r Role) bool {
	where := map[Role]string{Interpreter: "load_script+", Loader: "load_elf_binary+"}[r]
	for began := time.Now(); time.Since(began) < callWaits; time.Sleep(50 * time.Microsecond) {
		stack, err := os.ReadFile(p.proc("stack"))
		if err != nil || strings.Contains(string(stack), where) {
			return err == nil
		}
		if strings.Contains(string(stack), "fanotify_") {
			return false // it waits, and elsewhere
		}
	}
	return false
}
