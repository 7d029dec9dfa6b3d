//go:build amd64 || arm64

package jail

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Rights are what the processes of a cell may do beneath a path, as Landlock
// enforces it.
type Rights uint16

// The rights, to be or'ed.
const (
	ReadRight    Rights = 1 << iota // read files, list directories
	WriteRight                      // change files, make names
	DeleteRight                     // remove names, and move them elsewhere
	ExecuteRight                    // run files
	DeviceRight                     // configure devices: a cell's own terminals and null devices
)

// Place is a path with its rights.
type Place struct {
	Path   string // a file or a directory
	Rights Rights
}

var rightBits = map[Rights]uint64{
	ReadRight: readAll,
	WriteRight: writeFile | landlock.AccessFSMakeReg | landlock.AccessFSMakeDir | landlock.AccessFSMakeSym |
		landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo,
	DeleteRight:  removeAll,
	ExecuteRight: landlock.AccessFSExecute,
	DeviceRight:  landlock.AccessFSIoctlDev,
}

// CellProfile is what the first process of a cell keeps, and hands on.
type CellProfile struct {
	// Places are what files there are rights to.
	Places []Place
	// OpenFiles bounds the descriptors of each process.
	OpenFiles uint64
}

// EnterCell makes this process, the first of a cell whose view and namespaces are
// in place, unable to leave it: no file beyond the places, no capability, no way to
// gain one, no call that isn't listed. All that comes of it is held the same. It
// returns the descriptor that Listen takes.
func EnterCell(p CellProfile) (listener int, err error) {
	version, err := landlockVersion()
	if err != nil {
		return -1, err
	}
	if err := prctl("dumpable", unix.PR_SET_DUMPABLE, 0); err != nil {
		return -1, err
	}
	for what, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: p.OpenFiles, unix.RLIMIT_MEMLOCK: 64 << 10} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return -1, fmt.Errorf("limit %d: %w", what, err)
		}
	}
	if err := onAllThreads(nameNoNewPrivs, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return -1, err
	}
	if err := confinePlaces(version, p.Places); err != nil {
		return -1, err
	}
	if err := dropAllCapabilities(); err != nil {
		return -1, err
	}
	return installListening(nativeFilter())
}

// dropAllCapabilities also keeps a program from being given any.
func dropAllCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := onAllThreads("bounding set", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if err := onAllThreads("ambient set", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); err != nil {
		return err
	}
	caps, err := ownCapabilities()
	if err != nil {
		return err
	}
	return caps.keep()
}

func confinePlaces(version int, places []Place) error {
	files := handled[min(version, len(handled))-1]
	attr := landlock.RulesetAttr{HandledAccessFS: files}
	if version >= landlockScope {
		attr.Scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	ruleset, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("landlock: ruleset: %w", err)
	}
	defer unix.Close(ruleset)
	for _, p := range places {
		if err := allowPlace(ruleset, p, files); err != nil {
			return fmt.Errorf("landlock: rule for %s: %w", p.Path, err)
		}
	}
	if version >= landlockTSync {
		err = landlock.LandlockRestrictSelf(ruleset, landlock.FlagRestrictSelfTSync)
	} else {
		err = landlock.AllThreadsLandlockRestrictSelf(ruleset, 0)
	}
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// fileRights are those that a rule for a file can hold.
const fileRights = ofFiles | landlock.AccessFSExecute | landlock.AccessFSIoctlDev

func allowPlace(ruleset int, p Place, handled uint64) error {
	fd, err := unix.Open(p.Path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var access uint64
	for have, bits := range rightBits {
		if p.Rights&have != 0 {
			access |= bits
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return nil // what it leads to has a rule or none
	default:
		access &= fileRights
	}
	if access &= handled; access == 0 {
		return nil
	}
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0)
}

// IdentityCall reports whether a call asks to be someone, which the kernel may
// answer by itself.
func IdentityCall(nr int32) bool { return slices.Contains(identityCalls, uintptr(nr)) }
