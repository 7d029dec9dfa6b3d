//go:build amd64 || arm64

package execwatch

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Confine takes from the calling process, and from all that comes of it, the ways
// around a mechanism; sealed, also the ways to run code that no execve brings in.
// It needs no_new_privs or CAP_SYS_ADMIN. Call it in the process that becomes the
// unit, after [SealMemfds]. It adds a filter to those that there are, without what
// the caller says that one of those has: of two filters the harsher answer counts,
// and a mere refusal is harsher than a question that somebody would take note of.
func Confine(m Mechanism, sealed bool, has ...func(Rule) bool) error {
	gains := false
	if sealed {
		gains = DenyExecGain() == nil // before Linux 6.3 the rules forbid more
	}
	list := slices.DeleteFunc(Rules(m, sealed, memfdsSealed(), gains), func(r Rule) bool {
		return slices.ContainsFunc(has, func(f func(Rule) bool) bool { return f(r) })
	})
	return install(filter(list))
}

// DenyExecGain keeps the memory of the calling process, and of all that comes of
// it, from becoming executable when it wasn't, and from being writable and
// executable at once.
func DenyExecGain() error {
	if err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0); err != nil {
		return fmt.Errorf("memory that stays unexecutable (Linux 6.3): %w", err)
	}
	return nil
}

const memfdNoExec = "/proc/sys/vm/memfd_noexec"

// SealMemfds lets the memory files of the caller's pid namespace be made without the
// right to be run, unless they ask for it. It takes root, since the file is root's
// in any namespace. Call it in the first process. Without it [Confine] takes memory
// files from programs that don't ask for ones that can't be run, where it matters.
func SealMemfds() error {
	if memfdsSealed() {
		return nil
	}
	if err := os.WriteFile(memfdNoExec, []byte("1\n"), 0); err != nil {
		return fmt.Errorf("memory files that can't be run (Linux 6.3): %w", err)
	}
	return nil
}

func memfdsSealed() bool {
	b, err := os.ReadFile(memfdNoExec)
	b = bytes.TrimSpace(b)
	return err == nil && len(b) == 1 && b[0] >= '1' && b[0] <= '2'
}
