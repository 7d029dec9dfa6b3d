//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// What the kernel's accesses come to here.
const (
	rightsRead   = landlock.AccessFSReadFile | landlock.AccessFSReadDir
	rightsRun    = rightsRead | landlock.AccessFSExecute
	rightsChange = landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	rightsMake   = landlock.AccessFSMakeReg | landlock.AccessFSMakeDir | landlock.AccessFSMakeSym | landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo
	rightsRemove = landlock.AccessFSRemoveFile | landlock.AccessFSRemoveDir
	rightsOwn    = rightsRun | rightsChange | rightsMake | rightsRemove | landlock.AccessFSRefer | landlock.AccessFSResolveUnix
	rightsDevice = rightsRead | rightsChange | landlock.AccessFSIoctlDev
	rightsProc   = rightsRead | landlock.AccessFSWriteFile // the mount is read-only; /proc/self/fd leads elsewhere
	rightsFile   = landlock.AccessFSReadFile | landlock.AccessFSExecute | rightsChange | landlock.AccessFSIoctlDev | landlock.AccessFSResolveUnix
)

// handled is every access to files that a version of Landlock knows, by version
// from the first.
var handled = []uint64{
	landlock.AccessFSRefer - 1, landlock.AccessFSTruncate - 1, landlock.AccessFSIoctlDev - 1, landlock.AccessFSIoctlDev - 1,
	landlock.AccessFSResolveUnix - 1, landlock.AccessFSResolveUnix - 1, landlock.AccessFSResolveUnix - 1,
	landlock.AccessFSResolveUnix - 1, 2*landlock.AccessFSResolveUnix - 1,
}

// The versions that matter: the first that can tell a file's end from its middle,
// and the first that bounds sockets and signals.
const (
	landlockLeast = 3
	landlockScope = 6
)

// rule says what may be done beneath a path of the view.
type rule struct {
	at     string
	rights uint64
	dir    bool
}

func (v *view) rule(at string, rights uint64, dir bool) {
	v.rules = append(v.rules, rule{at, rights, dir})
}

func (m mount) rights() (r uint64) {
	if m.Read {
		r |= rightsRead
	}
	if m.Write {
		r |= rightsChange | rightsMake
	}
	if m.Delete {
		r |= rightsRemove
	}
	if m.Write || m.Delete {
		r |= landlock.AccessFSRefer
	}
	if m.Exec {
		r |= landlock.AccessFSExecute
	}
	return r
}

// rooted are the rules for the root itself. A rule holds for all that lies beneath,
// so what would give more than a mount has is given to what lies beside.
func (v *view) rooted() (list []rule, err error) {
	listable := true
	for _, m := range v.order.Mounts {
		listable = listable && m.Read
	}
	if listable {
		list = append(list, rule{"/", landlock.AccessFSReadDir, true})
	}
	if v.base.Host {
		return list, nil
	}
	rights := uint64(rightsRun)
	if v.order.Writable {
		rights = rightsOwn
	}
	beside, err := v.beside("/", rights)
	return append(list, beside...), err
}

// beside gives rights to a folder, or to what is in it except for what is mounted.
func (v *view) beside(at string, rights uint64) (list []rule, err error) {
	if !v.above(at) {
		return []rule{{at, rights, true}}, nil
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := strings.TrimSuffix(at, "/") + "/" + e.Name()
		switch {
		case v.mounted(name) || e.Type()&os.ModeSymlink != 0:
		case e.IsDir():
			more, err := v.beside(name, rights)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		default:
			list = append(list, rule{name, rights, false})
		}
	}
	return list, nil
}

func (v *view) mounted(at string) bool {
	for _, m := range v.order.Mounts {
		if m.Target == at {
			return true
		}
	}
	return at == "/proc" || at == "/dev" || at == "/sys"
}

// above reports whether beneath a folder there is a mount that a rule for the
// folder would give more than it has. What is only less for being read-only or
// noexec the mount itself holds to.
func (v *view) above(at string) bool {
	prefix := strings.TrimSuffix(at, "/") + "/"
	if at == "/" {
		return true
	}
	for _, m := range v.order.Mounts {
		if strings.HasPrefix(m.Target, prefix) && !(m.Read && m.Write == m.Delete) {
			return true
		}
	}
	return false
}

// landlock is the ruleset for the calling thread, not yet in force.
func (v *view) landlock(version int) (ruleset int, err error) {
	files := handled[min(version, len(handled))-1]
	attr := landlock.RulesetAttr{HandledAccessFS: files}
	if version >= landlockScope {
		attr.Scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	if ruleset, err = landlock.LandlockCreateRuleset(&attr, 0); err != nil {
		return -1, os.NewSyscallError("landlock_create_ruleset", err)
	}
	rooted, err := v.rooted()
	for _, r := range append(rooted, v.rules...) {
		if err == nil {
			err = r.add(ruleset, files)
		}
	}
	if err != nil {
		unix.Close(ruleset)
		return -1, fmt.Errorf("landlock: %w", err)
	}
	return ruleset, nil
}

func (r rule) add(ruleset int, files uint64) error {
	fd, err := unix.Open(r.at, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: r.at, Err: err}
	}
	defer unix.Close(fd)
	rights := r.rights & files
	if !r.dir {
		rights &= rightsFile
	}
	if rights == 0 {
		return nil
	}
	err = landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", r.at, err)
	}
	return nil
}

// landlockVersion is what the kernel has.
func landlockVersion() (int, error) {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil || version < landlockLeast {
		return 0, fmt.Errorf("got version %d, want %d or later: it came with Linux 6.2 and must be among the modules of the lsm= boot parameter (%v)",
			version, landlockLeast, err)
	}
	return version, nil
}
