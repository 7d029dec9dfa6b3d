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

// Jail is a process that has gone in.
type Jail struct {
	profile  Profile
	landlock error // why there is none
	version  int   // of landlock
	identity Mechanism
}

// Enter gives up everything that isn't needed to load compiled code:
//
//  1. it dies with its parent, leaves no core and can't be traced
//  2. its memory and its descriptors are bounded
//  3. it can gain no privileges, and makes no system calls but those listed
//  4. it reaches no file but the handed, and reads the code
//
// The calling goroutine must be locked to its thread, which must last as long as
// the process. A process that couldn't be jailed gives a *MissingError or the
// error of the step, and must run nothing.
func Enter(p Profile) (*Jail, error) {
	j := &Jail{profile: p, identity: Mechanism{Name: nameIdentity}}
	j.version, j.landlock = landlockVersion()
	if err := Missing(Survey(), len(p.Paths) > 0); err != nil {
		return nil, err
	}
	for _, step := range []func() error{j.dieWithParent, j.hide, j.bound, j.filter, j.confine} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("jail: %w", err)
		}
	}
	return j, nil
}

func (j *Jail) dieWithParent() error {
	if err := prctl("death signal", unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)); err != nil {
		return err
	}
	if ppid := unix.Getppid(); ppid != j.profile.Parent { // it was gone before we asked
		return fmt.Errorf("parent: got process %d, want %d", ppid, j.profile.Parent)
	}
	return nil
}

// hide keeps other processes of this user from looking in, and makes this the
// first that the kernel ends when memory runs out: the supervisor has records to
// keep.
func (j *Jail) hide() error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // a wish: without /proc it isn't heard
	return prctl("dumpable", unix.PR_SET_DUMPABLE, 0)
}

func (j *Jail) bound() error {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0}
	if j.profile.OpenFiles > 0 {
		limits[unix.RLIMIT_NOFILE] = j.profile.OpenFiles
	}
	if j.profile.Memory > 0 {
		base, err := addressSpace()
		if err != nil {
			return err
		}
		limits[unix.RLIMIT_AS] = base + j.profile.Memory
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

func (j *Jail) filter() error {
	if err := prctl(nameNoNewPrivs, unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return err
	}
	return install(entered(unix.Getpid()))
}

func (j *Jail) confine() error {
	if j.landlock != nil {
		return nil // paths go altogether with Seal; Missing has looked
	}
	return confine(j.version, j.profile.Code, j.profile.Paths)
}

// Seal gives up the rest: privileges, new machine code, and paths where none were
// handed over. After it the process may run what it doesn't trust.
func (j *Jail) Seal() error {
	if err := j.dropIdentity(); err != nil {
		return fmt.Errorf("jail: %w", err)
	}
	// Becoming someone else has cleared it.
	if err := j.dieWithParent(); err != nil {
		return fmt.Errorf("jail: %w", err)
	}
	if err := install(sealed(len(j.profile.Paths) > 0)); err != nil {
		return fmt.Errorf("jail: %w", err)
	}
	return nil
}

// nobody is the user that has no files, by convention.
const nobody = 65534

// dropIdentity drops capabilities, and the superuser where it isn't needed.
// Files in handed directories are opened by their paths, as the user whose files
// they are; so with storage the user stays, and keeps what the superuser's access
// to files consists of, for Landlock to bound. Without storage nothing is opened.
func (j *Jail) dropIdentity() error {
	caps, err := ownCapabilities()
	if err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	switch {
	case len(j.profile.Paths) > 0:
		err = caps.keep(unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER)
	case unix.Geteuid() == 0:
		err = becomeNobody()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) { // a container without the right, or without the user
			j.identity.Missing, err = err, nil
		}
		caps, _ = ownCapabilities()
		err = errors.Join(err, caps.keep())
	default:
		err = caps.keep()
	}
	j.identity.Detail = fmt.Sprintf("uid %d", unix.Geteuid())
	return err
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

// Mechanisms are what holds this process in, and what doesn't.
func (j *Jail) Mechanisms() []Mechanism {
	return []Mechanism{
		{Name: nameNoNewPrivs, Needed: EveryProcess},
		{Name: nameSeccomp, Needed: EveryProcess},
		{Name: nameLandlock, Needed: WithStorage, Missing: j.landlock, Detail: fmt.Sprintf("version %d", j.version)},
		j.identity,
	}
}
