//go:build amd64 || arm64

package jail

import (
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// gap is how many free numbers in a row say that no descriptor of the runtime's
// lies beyond: it was given the lowest that was free.
const gap = 8

// CloseInherited closes what an ancestor left open across exec, but for those. It
// comes first in a process. The runtime's own descriptors are marked
// close-on-exec, so what isn't came from outside.
func CloseInherited(keep ...int) {
	fd, free := 0, 0
	for ; free < gap; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		switch {
		case slices.Contains(keep, fd):
			free = 0
		case err != nil:
			free++
		case flags&unix.FD_CLOEXEC == 0:
			_ = unix.Close(fd)
			fallthrough
		default:
			free = 0
		}
	}
	for _, k := range append(slices.Sorted(slices.Values(keep)), math.MaxInt32) {
		if k > fd {
			_ = unix.CloseRange(uint(fd), uint(k-1), 0)
		}
		fd = max(fd, k+1)
	}
}
