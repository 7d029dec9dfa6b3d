//go:build linux && (amd64 || arm64)

package cell

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// dropBounding keeps what the calling thread will run from getting capabilities,
// whoever that is.
func dropBounding() error {
	for c := range uintptr(64) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			if c == 0 {
				return fmt.Errorf("capabilities: %w", err)
			}
			break // beyond the last that there is
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

// dropAll takes all capabilities from all threads of this process.
func dropAll() error {
	var none [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return fmt.Errorf("capabilities: %w", errno)
	}
	return nil
}

func restrictSelf(ruleset int) error {
	return os.NewSyscallError("landlock_restrict_self", landlock.LandlockRestrictSelf(ruleset, 0))
}
