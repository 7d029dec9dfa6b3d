//go:build amd64 || arm64

package jail

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// What the kernel's accesses are called here. Replacing a file by a rename is a
// write to whoever has granted one, and a removal to the kernel.
const (
	readFile  = landlock.AccessFSReadFile
	readAll   = readFile | landlock.AccessFSReadDir
	writeFile = landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	removeAll = landlock.AccessFSRemoveFile | landlock.AccessFSRemoveDir | landlock.AccessFSRefer
	writeAll  = writeFile | landlock.AccessFSMakeReg | landlock.AccessFSMakeDir | landlock.AccessFSMakeSym | removeAll
	ofFiles   = readFile | writeFile
)

// Every access to files that a version of Landlock knows is handled, and so
// denied where no rule allows it. By version, from the first.
var handled = []uint64{
	landlock.AccessFSRefer - 1,
	landlock.AccessFSTruncate - 1,
	landlock.AccessFSIoctlDev - 1,
	landlock.AccessFSIoctlDev - 1,
	landlock.AccessFSResolveUnix - 1, // 5
}

// Versions in which more than files came to be handled.
const (
	landlockNet   = 4
	landlockScope = 6
	landlockTSync = 8
)

// errLandlock explains what a missing Landlock means and how to get it.
var errLandlock = errors.New("the kernel doesn't have it: it came with Linux 5.13 and must be among the modules of the lsm= boot parameter")

func landlockVersion() (int, error) {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return 0, fmt.Errorf("%w (%v)", errLandlock, err)
	}
	return version, nil
}

// confine denies all files but the given, and, where the kernel's version can,
// TCP, abstract sockets and signals to anyone outside.
func confine(version int, paths []Path) error {
	files := handled[min(version, len(handled))-1]
	attr := landlock.RulesetAttr{HandledAccessFS: files}
	if version >= landlockNet {
		attr.HandledAccessNet = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	}
	if version >= landlockScope {
		attr.Scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	ruleset, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("landlock: ruleset: %w", err)
	}
	defer unix.Close(ruleset)
	threads, err := threadList()
	if err != nil {
		return fmt.Errorf("landlock: threads: %w", err)
	}
	defer unix.Close(threads)
	for _, p := range append(slices.Clone(paths), Path{FD: threads, Access: Read}) {
		if err := allowBeneath(ruleset, p, files); err != nil {
			return fmt.Errorf("landlock: rule for descriptor %d: %w", p.FD, err)
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

func allowBeneath(ruleset int, p Path, handled uint64) error {
	if p.FD < 0 {
		return nil
	}
	var access uint64
	for have, rights := range map[Access]uint64{Read: readAll, Write: writeAll, Delete: removeAll} {
		if p.Access&have != 0 {
			access |= rights
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(p.FD, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	if access &= handled; access == 0 {
		return nil
	}
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{AllowedAccess: access, ParentFd: p.FD}, 0)
}
