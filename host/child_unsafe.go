//go:build linux

package host

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pageAt is the page in shared memory, which is aligned to more than it needs.
func pageAt(b []byte) *page { return (*page)(unsafe.Pointer(&b[0])) }

// sendOnce is one send: package unix has none that says how much was taken.
func sendOnce(fd int, p []byte, flags int) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		uintptr(flags), 0, 0)
	runtime.KeepAlive(p)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
