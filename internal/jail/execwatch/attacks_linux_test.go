package execwatch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attacks are what the test binary does as a unit. What they could not do they
// leave on record by exiting with 0; it is for what ran to say otherwise.
var attacks = map[string]func() error{
	"memfd":      func() error { return memfdAttack(0) },
	"memfd+seal": func() error { return memfdAttack(unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW) },
	"memfd+swap": memfdSwapAttack,
	"rewrite":    rewriteAttack,
	"rename":     renameAttack,
	"thread":     threadAttack,
	"arguments":  argumentsAttack,
	"untraced":   untracedAttack,
	"trace":      traceAttack,
	"jobs":       jobsMain,
	"mappings":   mappingsAttack,
	"too long":   tooLongAttack,
	"tmpfile":    tmpfileAttack,
	"seal":       sealMemfdsMain,
}

// spawn runs a program with the pipe for marks.
func spawn(attr *syscall.SysProcAttr, args ...string) error {
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, os.NewFile(markerFD, "marker")}, Sys: attr,
	})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

func memfd(content []byte, seals int) (string, int, error) {
	fd, err := unix.MemfdCreate("x", unix.MFD_ALLOW_SEALING)
	if err != nil {
		return "", -1, err
	}
	_, err1 := unix.Write(fd, content)
	var err2 error
	if seals != 0 {
		_, err2 = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	return "/proc/self/fd/" + strconv.Itoa(fd), fd, firstOf(err1, err2)
}

func memfdAttack(seals int) error {
	content, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	path, _, err := memfd(content, seals)
	if err != nil {
		return nil
	}
	_ = unix.Exec(path, []string{"x"}, nil)
	return nil
}

// memfdSwapAttack runs a memory file with allowed bytes and puts others in their
// place while it starts.
func memfdSwapAttack() error {
	good, err1 := os.ReadFile(os.Args[1])
	bad, err2 := os.ReadFile(os.Args[2])
	if err := firstOf(err1, err2); err != nil {
		return err
	}
	path, fd, err := memfd(good, 0)
	if err != nil {
		return nil
	}
	var stop atomic.Bool
	go func() {
		for !stop.Load() {
			_, _ = unix.Pwrite(fd, bad, 0)
			time.Sleep(50 * time.Microsecond)
			_, _ = unix.Pwrite(fd, good, 0)
			time.Sleep(50 * time.Microsecond)
		}
	}()
	self := "/proc/" + strconv.Itoa(os.Getpid()) + path[len("/proc/self"):]
	for range 100 {
		_ = spawn(nil, self)
	}
	stop.Store(true)
	return nil
}

// tmpfileAttack does the same with a file that has no name.
func tmpfileAttack() error {
	content, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o755)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, content); err != nil {
		return err
	}
	reader, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	unix.Close(fd)
	_ = unix.Exec("/proc/self/fd/"+strconv.Itoa(reader), []string{"x"}, nil)
	return nil
}

// race runs a path hundreds of times while swap is called over and over.
func race(path string, swap func(n int) error) error {
	var stop atomic.Bool
	failed := make(chan error, 1)
	go func() {
		for n := 0; !stop.Load(); n++ {
			if err := swap(n); err != nil && !errors.Is(err, unix.ETXTBSY) {
				failed <- err
				return
			}
			time.Sleep(time.Duration(n%7) * 20 * time.Microsecond) // let it be started at times
		}
		failed <- nil
	}()
	ran := 0
	for tries := 0; ran < 300 && tries < 3000; tries++ {
		if spawn(nil, path) == nil {
			ran++
		}
	}
	stop.Store(true)
	return firstOf(<-failed)
}

// rewriteAttack writes one program and another over the same file.
func rewriteAttack() error {
	good, err1 := os.ReadFile(os.Args[1])
	bad, err2 := os.ReadFile(os.Args[2])
	path := os.Args[3]
	if err := firstOf(err1, err2, os.WriteFile(path, good, 0o755)); err != nil {
		return err
	}
	return race(path, func(n int) error {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		content := good
		if n%2 == 0 {
			content = bad
		}
		_, err = unix.Pwrite(fd, content, 0)
		return err
	})
}

// renameAttack puts one file and another in the same place.
func renameAttack() error {
	path := os.Args[3]
	if err := os.Symlink(os.Args[1], path); err != nil {
		return err
	}
	return race(path, func(n int) error {
		next := path + ".next"
		return firstOf(os.Symlink(os.Args[1+n%2], next), os.Rename(next, path))
	})
}

// threadAttack calls execve from a thread that isn't the first.
func threadAttack() error {
	done := make(chan error)
	runtime.LockOSThread()
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			done <- errors.New("this is the first thread")
			return
		}
		_ = unix.Exec(os.Args[1], os.Args[1:], nil)
		done <- nil
	}()
	return <-done
}

// argumentsAttack names an allowed program and lets another thread write a denied
// one's name over it, in a process for each try.
func argumentsAttack() error {
	if len(os.Args) > 3 {
		return execRewritten(os.Args[1], os.Args[2])
	}
	for range 150 {
		cmd := exec.Command("/proc/self/exe", os.Args[1], os.Args[2], "once")
		cmd.ExtraFiles = []*os.File{os.NewFile(markerFD, "marker")}
		_ = cmd.Run()
	}
	return nil
}

// untracedAttack asks for a child that isn't traced.
func untracedAttack() error {
	err := spawn(&syscall.SysProcAttr{Cloneflags: unix.CLONE_UNTRACED}, os.Args[1])
	fmt.Fprintln(os.Stderr, "a child that isn't traced:", err)
	return nil
}

// traceAttack tries to become the tracer: of a child, of its parent, and of itself
// through a thread.
func traceAttack() error {
	if err := spawn(&syscall.SysProcAttr{Ptrace: true}, os.Args[1]); err == nil {
		return errors.New("a child is traced by its parent")
	}
	pids := []int{os.Getpid()}
	if len(os.Args) > 2 { // confined: it would be stopped for good
		pids = append(pids, os.Getppid())
	}
	for _, pid := range pids {
		for _, request := range []int{unix.PTRACE_ATTACH, unix.PTRACE_SEIZE} {
			if ptrace(request, pid, 0, 0) == nil {
				return fmt.Errorf("process %d is traced", pid)
			}
		}
	}
	_ = unix.Exec(os.Args[1], os.Args[1:], nil)
	return nil
}

// tooLongAttack calls a program in vain, and then its loader as if it were still
// that call.
func tooLongAttack() error {
	many := make([]string, 0, 1<<16)
	for range cap(many) {
		many = append(many, "0123456789012345678901234567890123456789012345678901234567890123456789")
	}
	if err := unix.Exec(os.Args[1], many, nil); !errors.Is(err, unix.E2BIG) {
		return fmt.Errorf("got %v, want %v", err, unix.E2BIG)
	}
	b, err := os.ReadFile(os.Args[1]) // as if it were the read of that call
	if err != nil || len(b) == 0 {
		return err
	}
	_ = unix.Exec(os.Args[2], os.Args[2:], nil)
	return nil
}

// jobsMain stops and continues a child, as a shell does.
func jobsMain() error {
	mark := func(s string) { _, _ = unix.Write(markerFD, []byte(s)) }
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // a stop in the midst of execve is fine too, but not what is tested
	for range 5 {
		var status unix.WaitStatus
		if err := p.Signal(unix.SIGSTOP); err != nil {
			return err
		}
		if _, err := unix.Wait4(p.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
			return fmt.Errorf("stop: %v, %#x", err, uint32(status))
		}
		mark("s")
		if err := p.Signal(unix.SIGCONT); err != nil {
			return err
		}
		if _, err := unix.Wait4(p.Pid, &status, unix.WCONTINUED, nil); err != nil || !status.Continued() {
			return fmt.Errorf("continue: %v, %#x", err, uint32(status))
		}
		mark("c")
	}
	var status unix.WaitStatus
	if err := p.Signal(unix.SIGSEGV); err != nil {
		return err
	}
	if _, err := unix.Wait4(p.Pid, &status, 0, nil); err != nil || status.Signal() != unix.SIGSEGV {
		return fmt.Errorf("end: %v, %#x", err, uint32(status))
	}
	mark("e")
	return nil
}

// sealMemfdsMain is the first process of a pid namespace.
func sealMemfdsMain() error {
	if err := SealMemfds(); err != nil {
		return err
	}
	if !memfdsSealed() {
		return errors.New("it isn't so")
	}
	path, fd, err := memfd(tiny('m', 0, ""), 0)
	if err != nil {
		return err
	}
	if err := unix.Fchmod(fd, 0o755); err == nil {
		return errors.New("a memory file can be given the right to be run")
	}
	if err := unix.Exec(path, []string{path}, nil); !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("got %v, want %v", err, unix.EACCES)
	}
	return nil
}
