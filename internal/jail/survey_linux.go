//go:build amd64 || arm64

package jail

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Names of the mechanisms, in the order in which they are listed.
const (
	nameNoNewPrivs = "no new privileges"
	nameSeccomp    = "seccomp"
	nameLandlock   = "landlock"
	nameIdentity   = "identity"
)

// Survey says what can be established here, by asking the kernel. It changes
// nothing; that all of it works together is shown by running a unit.
func Survey() []Mechanism {
	list := []Mechanism{
		{Name: nameNoNewPrivs, Needed: EveryProcess},
		{Name: nameSeccomp, Needed: EveryProcess},
		{Name: nameLandlock, Needed: WithStorage},
	}
	if _, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil {
		list[0].Missing = fmt.Errorf("the kernel doesn't have it: %w; it came with Linux 3.5", err)
	}
	if err := canKill(); err != nil {
		list[1].Missing = fmt.Errorf("filters don't work here: %w; they came with Linux 4.14, and a container's own filter may hide them", err)
	}
	version, err := landlockVersion()
	list[2].Missing, list[2].Detail = err, fmt.Sprintf("version %d", version)
	return append(list, identity())
}

// identity says what becomes of the user that the process runs as.
func identity() Mechanism {
	m := Mechanism{Name: nameIdentity, Detail: fmt.Sprintf("uid %d without capabilities", unix.Geteuid())}
	if unix.Geteuid() == 0 {
		m.Detail = fmt.Sprintf("uid %d without capabilities; with storage uid 0, which opens the files, with %s", nobody, "CAP_DAC_OVERRIDE and CAP_FOWNER")
	}
	return m
}
