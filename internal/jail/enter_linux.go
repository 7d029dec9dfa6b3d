//go:build amd64 || arm64

package jail

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// entry is a process on its way in.
type entry struct {
	profile  Profile
	landlock Mechanism
	identity Mechanism
}

// Enter gives up everything but what the profile keeps:
//
//  1. it dies with its parent, leaves no core and can't be traced
//  2. its memory and its descriptors are bounded
//  3. it can gain no privileges
//  4. it reaches no file but the handed ones, and nobody by socket or signal
//  5. it is nobody, if nobody is enough to open those files
//  6. it makes no system calls but those that are listed
//
// It returns what holds the process in, and what doesn't and isn't needed. No
// thread of it may end before the process does. A process that couldn't be jailed
// gives a *MissingError or the error of the step, and must run nothing.
func Enter(p Profile) ([]Mechanism, error) {
	list := Survey()
	if err := Missing(list, len(p.Paths) > 0); err != nil {
		return nil, err
	}
	e := &entry{profile: p, landlock: list[2], identity: Mechanism{Name: nameIdentity}}
	for _, step := range []func() error{e.dieWithParent, e.hide, e.bound, e.noNewPrivileges, e.confine, e.dropIdentity, e.filter} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("jail: %w", err)
		}
	}
	return append(list[:2:2], e.landlock, e.identity), nil
}

func (e *entry) dieWithParent() error {
	if err := prctl("death signal", unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)); err != nil {
		return err
	}
	if ppid := unix.Getppid(); ppid != e.profile.Parent { // it was gone before we asked
		return fmt.Errorf("parent: got process %d, want %d", ppid, e.profile.Parent)
	}
	return nil
}

// hide keeps other processes of this user from looking in, and makes this the
// first that the kernel ends when memory runs out: the supervisor has records to
// keep.
func (e *entry) hide() error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // a wish: without /proc it isn't heard
	return prctl("dumpable", unix.PR_SET_DUMPABLE, 0)
}

func (e *entry) bound() error {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0}
	if e.profile.OpenFiles > 0 {
		limits[unix.RLIMIT_NOFILE] = e.profile.OpenFiles
	}
	if e.profile.Memory > 0 {
		base, err := addressSpace()
		if err != nil {
			return err
		}
		limits[unix.RLIMIT_AS] = base + e.profile.Memory
	}
	for what, most := range limits {
		var have unix.Rlimit
		if err := unix.Getrlimit(what, &have); err != nil {
			return fmt.Errorf("limit %d: %w", what, err)
		}
		most = min(most, have.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit %d: %w", what, err)
		}
	}
	return nil
}

func addressSpace() (uint64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("address space: %w", err)
	}
	size, _, _ := bytes.Cut(statm, []byte(" "))
	pages, err := strconv.ParseUint(string(size), 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// noNewPrivileges is asked of every thread: each restricts itself afterwards, and
// only a thread that can gain nothing by it may.
func (e *entry) noNewPrivileges() error {
	return onAllThreads(nameNoNewPrivs, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

func (e *entry) confine() error {
	if e.landlock.Missing != nil {
		return nil // paths go altogether; Missing has looked
	}
	version, err := landlockVersion()
	if err != nil {
		return err
	}
	return confine(version, e.profile.Paths)
}

func (e *entry) filter() error { return install(callFilter(unix.Getpid(), len(e.profile.Paths) > 0)) }

// nobody is the user that has no files, by convention.
const nobody = 65534

// dropIdentity drops capabilities, and the superuser where it isn't needed.
// Files in handed directories are opened by their paths, as the user whose files
// they are; so with storage the user stays, and keeps what the superuser's access
// to files consists of, for Landlock to bound. Without storage nothing is opened.
func (e *entry) dropIdentity() error {
	caps, err := ownCapabilities()
	if err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	switch {
	case len(e.profile.Paths) > 0:
		err = caps.keep(unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER)
	case unix.Geteuid() == 0:
		err = becomeNobody()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) { // a container without the right, or without the user
			e.identity.Missing, err = err, nil
		}
		caps, _ = ownCapabilities()
		err = errors.Join(err, caps.keep())
	default:
		err = caps.keep()
	}
	e.identity.Detail = fmt.Sprintf("uid %d", unix.Geteuid())
	if err != nil {
		return err
	}
	return e.dieWithParent() // becoming someone else has cleared it
}

func becomeNobody() error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	if err := syscall.Setresgid(nobody, nobody, nobody); err != nil {
		return fmt.Errorf("group %d: %w", nobody, err)
	}
	if err := syscall.Setresuid(nobody, nobody, nobody); err != nil {
		return fmt.Errorf("user %d: %w", nobody, err)
	}
	return nil
}
