//go:build amd64 || arm64

package cell

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// program is this very program, also when its file has been replaced since.
const program = "/proc/self/exe"

// initEnv is the whole environment of a cell's first process. It waits for three
// things at once, and makes too little garbage to collect.
var initEnv = []string{"GOMAXPROCS=3", "GOGC=off", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}

// initCapabilities are what the first process needs over its own namespaces, and
// gives away before anything of the unit runs.
var initCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP, unix.CAP_SYS_TIME,
}

// born are the namespaces that it is born into; it makes those of cgroups and time
// itself.
const born = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// spawner does what starts cells on one thread that never ends: the kernel sends
// the death signal of a child when the thread that started it ends, not the
// process. It also is the thread that is in a cell's control groups while the cell
// is started.
var spawner = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	taken := make(chan struct{})
	go serve(starts, taken)
	<-taken
	return starts
})

// serve runs what comes on a thread that isn't the process's first: what that one
// is in, the kernel says of the process.
func serve(starts <-chan func(), taken chan<- struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		other := make(chan struct{})
		go serve(starts, other)
		<-other // until then this thread is taken, so it's another one
		runtime.UnlockOSThread()
		close(taken)
		return
	}
	close(taken)
	for start := range starts {
		start()
	}
}

func onSpawner(f func()) {
	done := make(chan struct{})
	spawner() <- func() { defer close(done); f() }
	<-done
}

// spawn starts a cell's first process in control groups, which may be none.
func spawn(s *Spec, g *groups) (p *os.Process, socket int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	attr := &os.ProcAttr{Dir: "/", Env: initEnv, Files: []*os.File{theirs, devNull(), os.Stderr}, Sys: &syscall.SysProcAttr{
		Cloneflags: born, Pdeathsig: syscall.SIGKILL, Setsid: true, AmbientCaps: initCapabilities,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: int(s.UID), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: int(s.GID), HostID: os.Getegid(), Size: 1}},
	}}
	if g.two != "" {
		dir, err := os.OpenFile(g.two, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			unix.Close(pair[0])
			return nil, -1, err
		}
		defer dir.Close()
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(dir.Fd())
	}
	onSpawner(func() {
		if err = g.enter(); err == nil {
			p, err = os.StartProcess(program, []string{initName}, attr)
		}
		err = errors.Join(err, g.leave())
	})
	if err != nil {
		unix.Close(pair[0])
		return nil, -1, err
	}
	return p, pair[0], nil
}

var devNull = sync.OnceValue(func() *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil // closed is as good
	}
	return f
})
