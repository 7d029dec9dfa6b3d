//go:build linux && (amd64 || arm64)

package execwatch

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// atExecveCheck has execveat look whether it would run a file, and not run it
// (Linux 6.14).
const atExecveCheck = 0x10000

// wouldRun asks the kernel to run an open file, up to the point where it would.
func wouldRun(fd int) error {
	var empty [1]byte
	var none [1]uintptr
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(unsafe.Pointer(&none)),
		uintptr(unsafe.Pointer(&none)), unix.AT_EMPTY_PATH|atExecveCheck, 0)
	runtime.KeepAlive(&empty)
	runtime.KeepAlive(&none)
	if errno != 0 {
		return errno
	}
	return nil
}
