//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// oomWatch is told by the kernel when a group of version 1 runs out of memory,
// where the kernel ends one process and not all.
type oomWatch struct {
	event *os.File
	out   atomic.Bool
}

func watchOOM(dir string) (*oomWatch, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	w := &oomWatch{event: os.NewFile(uintptr(fd), "out of memory")}
	control, err := unix.Open(dir+"/memory.oom_control", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		w.event.Close()
		return nil, &os.PathError{Op: "open", Path: dir + "/memory.oom_control", Err: err}
	}
	defer unix.Close(control)
	if err := writeFile(dir+"/cgroup.event_control", fmt.Sprintf("%d %d", fd, control)); err != nil {
		w.event.Close()
		return nil, err
	}
	return w, nil
}

// wait calls f when memory has run out, if it does before close.
func (w *oomWatch) wait(f func()) {
	if w == nil {
		return
	}
	go func() {
		b := make([]byte, 8)
		if _, err := w.event.Read(b); err == nil {
			w.out.Store(true)
			f()
		}
	}()
}

func (w *oomWatch) fired() bool { return w != nil && w.out.Load() }

func (w *oomWatch) close() {
	if w != nil {
		w.event.Close()
	}
}
