package host

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// childName is the argv[0] by which a host process knows what it is. It isn't an
// argument, so no command line of a user can be taken for it.
const childName = "joulebox-host"

// childProgram is this very program, also when its file has been replaced since.
const childProgram = "/proc/self/exe"

// childEnv is the whole environment of a host process. One processor is enough: a
// unit is one thread, and what the runtime has to do meanwhile it does between two
// slices. Each thread less makes the way into the jail shorter, which every thread
// has to go.
var childEnv = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}

// spawner does what starts host processes on one thread that never ends: the
// kernel sends the death signal of a child when the thread that started it ends,
// not the process.
var spawner = sync.OnceValue(func() chan<- func() {
	starts := make(chan func(), 1)
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// spawned is a host process that was just started, with the supervisor's end of
// the socket pair.
type spawned struct {
	process *os.Process
	socket  int
	stderr  int // what a process that crashes has to say
}

// spawn starts a host process, on a thread that lasts. It has no environment, no
// directory, and no descriptors but the socket, nothing to write to, and the crash
// report.
func spawn() (s spawned, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return s, fmt.Errorf("host process: socket pair: %w", err)
	}
	var report [2]int
	if err := unix.Pipe2(report[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		unix.Close(pair[0])
		unix.Close(pair[1])
		return s, fmt.Errorf("host process: pipe: %w", err)
	}
	s = spawned{socket: pair[0], stderr: report[0]}
	files := []*os.File{os.NewFile(uintptr(pair[1]), "socket"), devNull(), os.NewFile(uintptr(report[1]), "report")}
	s.process, err = os.StartProcess(childProgram, []string{childName}, &os.ProcAttr{
		Dir: "/", Env: childEnv, Files: files,
		// Its own group: what is typed at a terminal is the supervisor's to handle.
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	})
	files[0].Close()
	files[2].Close()
	if err != nil {
		unix.Close(s.socket)
		unix.Close(s.stderr)
		return s, fmt.Errorf("host process: %w", err)
	}
	return s, nil
}

var devNull = sync.OnceValue(func() *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil // closed is as good
	}
	return f
})
