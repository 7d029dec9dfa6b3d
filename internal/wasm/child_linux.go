package wasm

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfPath is this very program, also when its file has been replaced since.
func selfPath() (string, error) { return "/proc/self/exe", nil }

func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// limitSelf sets the child's hard limits. Address space is counted from where
// the process stands: the Go runtime reserves a lot that it never touches.
func limitSelf(job buildJob) error {
	base, err := addressSpace()
	if err != nil {
		return err
	}
	for _, lim := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_AS, base + job.MemoryBytes},
		{unix.RLIMIT_CPU, job.CPUSeconds},
		{unix.RLIMIT_FSIZE, job.MemoryBytes},
		{unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(lim.what, &unix.Rlimit{Cur: lim.most, Max: lim.most}); err != nil {
			return err
		}
	}
	return nil
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
