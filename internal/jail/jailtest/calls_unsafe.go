//go:build linux && (amd64 || arm64)

package jailtest

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes a system call with two arguments; the rest are zero.
func call(nr, a, b uintptr) error {
	if _, _, errno := unix.RawSyscall6(nr, a, b, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// exec replaces this process, if it comes so far.
func exec(dir int, path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	argv := []*byte{name, nil}
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(dir), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&argv[0])), 0, unix.AT_EMPTY_PATH, 0)
	runtime.KeepAlive(argv)
	return errno
}

// clone makes a process or a thread that exits at once.
func clone(flags uintptr) error {
	child, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if child == 0 {
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	return nil
}
