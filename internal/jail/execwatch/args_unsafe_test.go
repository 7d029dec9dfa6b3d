//go:build linux

package execwatch

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// execRewritten calls execve with a name that another thread keeps changing from
// one to the other; they differ in their last byte.
func execRewritten(a, b string) error {
	if len(a) != len(b) {
		return errors.New("the names must be of one length")
	}
	name := append([]byte(a), 0)
	argv := [2]*byte{&name[0]}
	var turns atomic.Uint32
	go func() {
		for at := len(a) - 1; ; {
			for _, c := range []byte{b[at], a[at]} {
				name[at] = c
				for range 200 {
					turns.Add(1)
				}
			}
		}
	}()
	for turns.Load() < 10000 {
	}
	_, _, errno := unix.Syscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&argv[0])), 0)
	return errno
}
