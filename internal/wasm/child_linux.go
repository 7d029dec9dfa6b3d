package wasm

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// selfPath is this very program, also when its file has been replaced since.
func selfPath() (string, error) { return "/proc/self/exe", nil }

func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// limitSelf sets the child's hard limits. Address space is counted from where
// the process stands: the Go runtime reserves a lot that it never touches.
func limitSelf(l CompileLimits) error {
	base, err := addressSpace()
	if err != nil {
		return err
	}
	cpu := uint64((l.CPU + time.Second - 1) / time.Second)
	for _, lim := range []struct {
		what  int
		bytes uint64
	}{
		{unix.RLIMIT_AS, base + l.MemoryBytes},
		{unix.RLIMIT_CPU, max(cpu, 1)},
		{unix.RLIMIT_FSIZE, l.MemoryBytes},
		{unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(lim.what, &unix.Rlimit{Cur: lim.bytes, Max: lim.bytes}); err != nil {
			return err
		}
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

func addressSpace() (uint64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	size, _, _ := bytes.Cut(statm, []byte(" "))
	pages, err := strconv.ParseUint(string(size), 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// closeInherited closes what an ancestor left open across exec. The runtime's own
// descriptors are marked close-on-exec, so what isn't came from outside.
func closeInherited() {
	names, _ := os.ReadDir("/proc/self/fd")
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// endedByCPULimit reports whether the kernel ended the child for its CPU time:
// with SIGKILL, as soft and hard limit are one.
func endedByCPULimit(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL)
}
