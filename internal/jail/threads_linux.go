//go:build amd64 || arm64

package jail

import (
	"fmt"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// onAllThreads makes a system call on every thread, those that the runtime has
// started already included: most restrictions are a thread's own.
func onAllThreads(what string, nr, a, b, c uintptr) error {
	if _, _, errno := psx.Syscall6(nr, a, b, c, 0, 0, 0); errno != 0 {
		return fmt.Errorf("%s: %w", what, errno)
	}
	return nil
}

func prctl(what string, option int, arg uintptr) error {
	if err := unix.Prctl(option, arg, 0, 0, 0); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
