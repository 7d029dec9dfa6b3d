package execwatch

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
)

// Start watches what comes of a process that stands still, by the best mechanism
// there is. It returns when every execve from now on is decided; the process may
// then go on. With none the run has to be declined.
//
// The process becomes the unit by execve, or it is one that starts the unit as its
// first child and isn't of it, the first of a cell. Of what is traced, this process
// must wait for nothing: the kernel would give its stops to who waits. A process
// that starts a unit is let go before the unit's execve is decided and may be waited
// for from then on; of one that is the unit, Options.Ended tells. When the calling
// process ends, so does a traced tree.
func Start(pid int, o Options) (*Watch, error) {
	m, err := Best()
	if err != nil {
		return nil, err
	}
	return StartWith(m, pid, o)
}

// StartWith is Start by the mechanism of one's choice.
func StartWith(m Mechanism, pid int, o Options) (*Watch, error) {
	switch m {
	case Fanotify:
		return startFanotify(pid, o)
	case Ptrace:
		return startPtrace(pid, o)
	}
	return nil, fmt.Errorf("exec watch: there is no mechanism %q", m)
}

// Best is the mechanism that [Start] takes: fanotify before ptrace.
func Best() (Mechanism, error) {
	var missing []error
	for _, o := range Survey() {
		if o.Missing == nil {
			return o.Mechanism, nil
		}
		missing = append(missing, fmt.Errorf("%s: %w", o.Mechanism, o.Missing))
	}
	return "", fmt.Errorf("programs can't be told by content here: %w", errors.Join(missing...))
}

// Survey tries each mechanism, once in the life of the process.
func Survey() []Offer {
	return []Offer{{Fanotify, tryFanotify()}, {Ptrace, tryPtrace()}}
}

// junk is a file that the kernel refuses to run, if it gets to look at it.
var junk = []byte("no program\n")

// tryFanotify refuses a file of its own.
var tryFanotify = sync.OnceValue(func() error {
	own := process(os.Getpid())
	namespace, err := own.mountNamespace()
	if err != nil {
		return err
	}
	var asked []Record
	a, err := newAsked(namespace, Options{Record: func(r Record) { asked = append(asked, r) }})
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: it takes CAP_SYS_ADMIN outside of containers", err)
	}
	if err != nil {
		return err
	}
	defer a.close()
	if _, err := os.ReadFile(own.proc("stack")); err != nil {
		return fmt.Errorf("where a thread is in the kernel can't be told: %w", err)
	}
	path, err := junkFile()
	if err != nil {
		return err
	}
	defer os.Remove(path)
	err = a.refuses(path)
	a.judge.mu.Lock()
	defer a.judge.mu.Unlock()
	if !errors.Is(err, unix.EPERM) || len(asked) != 1 || asked[0].Hash != joulebox.Sum(junk) {
		return fmt.Errorf("the kernel doesn't ask before it runs a program: %v", err)
	}
	return nil
})

// refuses tries to run a file that is asked about.
func (a *asked) refuses(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if err := a.mark(unix.FAN_MARK_ADD, unix.FAN_OPEN_EXEC_PERM, fd); err != nil {
		return err
	}
	go func() { _ = a.serve() }()
	if err := wouldRun(fd); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return run(path)
}

func junkFile() (string, error) {
	syscall.ForkLock.RLock() // a child of another thread would hold it open for writing
	defer syscall.ForkLock.RUnlock()
	f, err := os.CreateTemp("", ".joulebox-exec-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(junk)
	err = errors.Join(err, f.Chmod(0o700), f.Close())
	return f.Name(), err
}

// tryPtrace traces a program that never gets to its first instruction.
var tryPtrace = sync.OnceValue(func() error {
	if err := writersKeptOut(); err != nil {
		return err
	}
	ends := make(chan error)
	go onChildlessThread(func() { ends <- tracePlainly() })
	return <-ends
})

func tracePlainly() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pid, err := syscall.ForkExec(self, []string{self}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return fmt.Errorf("a program can't be traced: %w", err)
	}
	t := newTracer(Options{}, unix.WNOTHREAD)
	err = t.upgrade(Started{PID: pid}) // refuses, as nothing is granted
	err = errors.Join(err, ignoreGone(unix.Kill(pid, unix.SIGKILL)))
	return errors.Join(err, t.loop())
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// writersKeptOut reports whether a file that runs can't be written to, which some
// kernels gave up for a while (Linux 6.11). It tries to run junk that is open for
// writing.
func writersKeptOut() error {
	path, err := junkFile()
	if err != nil {
		return err
	}
	defer os.Remove(path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	err = run(path)
	switch {
	case errors.Is(err, unix.ETXTBSY):
		return nil
	case errors.Is(err, unix.ENOEXEC):
		return errors.New("a program can be written to while it runs; Linux 6.13 keeps writers out, and so do those before 6.11")
	}
	return fmt.Errorf("whether a program can be written to while it runs can't be told; let TMPDIR be a directory that programs run from: %w", err)
}

// run tries to run junk, on a kernel that can't just be asked. The thread that does
// keeps its processor until the kernel has its answer, so whoever answers must not
// be stopped meanwhile, as for collecting garbage.
func run(path string) error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{})
	if err == nil {
		_ = p.Kill()
		_, _ = p.Wait()
		return errors.New("it ran")
	}
	return err
}
