//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
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
var initEnv = []string{"GOMAXPROCS=3", "GOGC=off", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0",
	"GODEBUG=containermaxprocs=0,updatemaxprocs=0"}

// initCapabilities are what the first process needs over its own namespaces, and
// gives away before anything of the unit runs.
var initCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP, unix.CAP_SYS_TIME,
	unix.CAP_SYS_PTRACE, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, // the last three for layers that it mounts
}

// born are the namespaces that it is born into; it makes those of cgroups and time
// itself.
const born = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// spawner does what starts cells on one thread that never ends: the kernel sends
// the death signal of a child when the thread that started it ends, not the
// process.
var spawner = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

func onSpawner(f func()) {
	done := make(chan struct{})
	spawner() <- func() { defer close(done); f() }
	<-done
}

// first is a cell's first process, which waits for an order.
type first struct {
	uid, gid uint32
	base     base
	groups   *groups
	process  *os.Process
	socket   int
}

// newFirst starts one, in control groups of its own, and lets it begin.
func newFirst(uid, gid uint32, b base, l Limits) (*first, error) {
	f := &first{uid: uid, gid: gid, base: b}
	var err error
	if f.groups, err = newGroups(l); err != nil {
		return nil, explain(err)
	}
	if err := f.spawn(); err != nil {
		return nil, errors.Join(missing(nameNamespaces, err), f.groups.remove())
	}
	to := link{fd: f.socket}
	if err := to.send(kindBase, &b); err != nil {
		return nil, errors.Join(fmt.Errorf("cell: %w", err), f.end())
	}
	return f, nil
}

func (f *first) spawn() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	f.socket = pair[0]
	attr := &os.ProcAttr{Dir: "/", Env: initEnv, Files: []*os.File{theirs, devNull(), os.Stderr}, Sys: &syscall.SysProcAttr{
		Cloneflags: born, Pdeathsig: syscall.SIGKILL, Setsid: true, AmbientCaps: initCapabilities,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: int(f.uid), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: int(f.gid), HostID: os.Getegid(), Size: 1}},
	}}
	dir, err := f.groups.open()
	if err == nil {
		if dir != nil {
			defer dir.Close()
			attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(dir.Fd())
		}
		onSpawner(func() { f.process, err = os.StartProcess(program, []string{initName}, attr) })
	}
	if err != nil {
		unix.Close(f.socket)
	}
	return err
}

// end ends one that nobody wants.
func (f *first) end() error {
	_ = f.process.Kill()
	_, err := f.process.Wait()
	unix.Close(f.socket)
	return errors.Join(err, f.groups.remove())
}

var devNull = sync.OnceValue(func() *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil // closed is as good
	}
	return f
})
