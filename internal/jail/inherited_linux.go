//go:build amd64 || arm64

package jail

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseInherited closes what an ancestor left open across exec, but for those.
// The runtime's own descriptors are marked close-on-exec, so what isn't came from
// outside.
func CloseInherited(keep ...int) {
	names, _ := os.ReadDir("/proc/self/fd")
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || slices.Contains(keep, fd) {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}
