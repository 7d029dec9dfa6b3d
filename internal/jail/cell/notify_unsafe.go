//go:build linux && (amd64 || arm64)

package cell

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notice is the kernel's struct seccomp_notif.
type notice struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is the kernel's struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// answer refuses what the filter asks about and notes it, until nothing is left
// that could ask.
func (i *inner) answer() {
	mustDropThread()
	for {
		var n notice
		if err := seccompIoctl(i.questions, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) { // who asked has been ended
				continue
			}
			return
		}
		if name := probeName(int(n.nr)); i.probes.add(name) {
			w := word(name)
			_ = i.link.send(kindProbe, &w)
		}
		r := response{id: n.id, errno: -int32(unix.EPERM)}
		_ = seccompIoctl(i.questions, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // it may be gone
	}
}

func seccompIoctl(fd int, request uint, p unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(p))
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}
