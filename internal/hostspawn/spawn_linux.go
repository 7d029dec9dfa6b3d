package hostspawn

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// program is this very program, also when its file has been replaced since.
const program = "/proc/self/exe"

// environment is the whole environment of a host process. One processor is enough:
// a unit is one thread, and what the runtime has to do meanwhile it does between
// two slices. Each thread less makes the way into the jail shorter, which every
// thread has to go.
var environment = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}

// thread does what starts host processes on one thread that never ends: the
// kernel sends the death signal of a child when the thread that started it ends,
// not the process.
var thread = sync.OnceValue(func() chan<- func() {
	starts := make(chan func(), 1)
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// Begin begins to start a host process. The function that it returns waits for
// that, and may be called once.
func Begin() func() (Process, error) {
	type result struct {
		process Process
		err     error
	}
	done := make(chan result, 1)
	thread() <- func() {
		p, err := start()
		done <- result{p, err}
	}
	return func() (Process, error) {
		r := <-done
		return r.process, r.err
	}
}

// start starts a host process. It has no environment, no directory, and no
// descriptors but the socket, nothing to write to, and the crash report.
func start() (p Process, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return p, fmt.Errorf("host process: socket pair: %w", err)
	}
	defer syscall.Close(pair[1])
	var report [2]int
	if err := syscall.Pipe2(report[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		syscall.Close(pair[0])
		return p, fmt.Errorf("host process: pipe: %w", err)
	}
	defer syscall.Close(report[1])
	null := devNull()
	if null >= 0 {
		defer syscall.Close(null)
	}
	p = Process{Socket: pair[0], Report: report[0]}
	p.Pid, err = syscall.ForkExec(program, []string{Name}, &syscall.ProcAttr{
		Dir: "/", Env: environment, Files: []uintptr{uintptr(pair[1]), uintptr(null), uintptr(report[1])},
		// Its own group: what is typed at a terminal is the supervisor's to handle.
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	})
	if err != nil {
		syscall.Close(p.Socket)
		syscall.Close(p.Report)
		return p, fmt.Errorf("host process: %w", err)
	}
	return p, nil
}

func devNull() int {
	fd, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1 // closed is as good
	}
	return fd
}
