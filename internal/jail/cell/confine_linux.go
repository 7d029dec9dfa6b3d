//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

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

// dropHere takes all capabilities from the calling thread.
func dropHere() error {
	var none [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
}

// dropBut takes all capabilities but one from the calling thread.
func dropBut(keep uint) error {
	var some [2]unix.CapUserData
	some[keep/32].Permitted, some[keep/32].Effective = 1<<(keep%32), 1<<(keep%32)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return os.NewSyscallError("capset", unix.Capset(&header, &some[0]))
}

// mustDropThread makes the caller's thread its own and takes its capabilities.
// What hears from the unit has none.
func mustDropThread() {
	runtime.LockOSThread()
	if err := dropHere(); err != nil {
		os.Exit(1) // and all with it
	}
}

func restrictSelf(ruleset int) error {
	return os.NewSyscallError("landlock_restrict_self", landlock.LandlockRestrictSelf(ruleset, 0))
}
