//go:build linux && (amd64 || arm64)

package jail

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// install puts a filter on all threads. It also gives them the no_new_privs of
// this one.
func install(filter []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if r != 0 {
		return fmt.Errorf("seccomp: thread %d has a filter of its own", r)
	}
	return nil
}

// canKill reports whether filters can end a process.
func canKill() error {
	action := uint32(kill)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return errno
	}
	return nil
}

// capabilities are what threads may do beyond their user's rights, in the
// kernel's third layout.
type capabilities [2]unix.CapUserData

func ownCapabilities() (c capabilities, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return c, unix.Capget(&header, &c[0])
}

// keep drops all capabilities but those, of which this process may have none.
func (c capabilities) keep(which ...uint) error {
	var mask [2]uint32
	for _, bit := range which {
		mask[bit/32] |= 1 << (bit % 32)
	}
	for i := range c {
		c[i].Permitted &= mask[i]
		c[i].Effective, c[i].Inheritable = c[i].Permitted, 0
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	err := onAllThreads("capabilities", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&c[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&c)
	return err
}

// InstallHere puts a filter on the calling thread alone, and on what comes of it.
// The descriptor is what its questions are read from, if it asks any and notify
// says so; else -1.
func InstallHere(filter []unix.SockFilter, notify bool) (listener int, err error) {
	var flags uintptr
	if notify {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno == unix.EINVAL && notify { // Linux before 5.19: a signal may interrupt who waits for an answer
		r, _, errno = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	}
	runtime.KeepAlive(filter)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	if !notify {
		return -1, nil
	}
	return int(r), nil
}
