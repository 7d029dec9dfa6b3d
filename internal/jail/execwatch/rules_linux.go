//go:build amd64 || arm64

package execwatch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Rule is a call that fails when all its conditions hold, for a seccomp filter.
type Rule struct {
	Call  uintptr
	When  []Arg
	Errno syscall.Errno
}

// Arg is a condition on the low half of an argument.
type Arg struct {
	Index       int
	Mask, Value uint32
}

func has(index int, bits uint32) Arg { return Arg{index, bits, bits} }

func lacks(index int, bits uint32) Arg { return Arg{index, bits, 0} }

// Rules are what a tree must not call, or the mechanism could be evaded. Sealed adds
// what must go where hashes bind: ways to run code that no execve brings in.
// Memfds says that memory files are made without the right to be run unless they
// ask for it ([SealMemfds]); gains, that the kernel keeps what isn't executable from
// becoming so ([DenyExecGain]).
func Rules(m Mechanism, sealed, memfds, gains bool) (list []Rule) {
	list = append(list, rules(unix.ENOSYS, unix.SYS_CLONE3)...) // its flags are in memory; libraries fall back to clone
	switch m {
	case Ptrace:
		// And nobody writes to the memory of a process that is about to be judged.
		list = append(list, rules(unix.EPERM, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_WRITEV)...)
		list = append(list, Rule{unix.SYS_CLONE, []Arg{has(0, unix.CLONE_UNTRACED)}, unix.EPERM})
	case Fanotify: // it asks about the mounts that there are
		list = append(list, rules(unix.EPERM, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
			unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG,
			unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, sysOpenTreeAttr)...)
		for _, ns := range []uint32{unix.CLONE_NEWNS, unix.CLONE_NEWUSER} {
			for _, call := range []uintptr{unix.SYS_CLONE, unix.SYS_UNSHARE} {
				list = append(list, Rule{call, []Arg{has(0, ns)}, unix.EPERM})
			}
		}
		list = append(list, memfdRules(memfds)...) // memory files lie on a mount that can't be asked about
	}
	if sealed {
		list = append(list, sealedRules(gains)...)
	}
	return list
}

// sysOpenTreeAttr is Linux 6.15's.
const sysOpenTreeAttr = 467

func rules(errno syscall.Errno, calls ...uintptr) (list []Rule) {
	for _, c := range calls {
		list = append(list, Rule{Call: c, Errno: errno})
	}
	return list
}

// memfdRules leave only memory files that can't be run.
func memfdRules(byDefault bool) []Rule {
	if byDefault {
		return []Rule{{unix.SYS_MEMFD_CREATE, []Arg{has(1, unix.MFD_EXEC)}, unix.EPERM}}
	}
	return []Rule{{unix.SYS_MEMFD_CREATE, []Arg{lacks(1, unix.MFD_NOEXEC_SEAL)}, unix.EPERM}}
}

const (
	shmExec         = 0o100000  // SHM_EXEC
	readImpliesExec = 0x0400000 // READ_IMPLIES_EXEC
	askPersonality  = 0xffffffff
)

// sealedRules leave executable only what is mapped, privately and for good, from a
// file. From which, the mounts say. A memory file that can't be run can be mapped
// executable all the same; so there are none.
func sealedRules(gains bool) []Rule {
	list := rules(unix.ENOSYS, append([]uintptr{unix.SYS_MEMFD_CREATE, unix.SYS_REMAP_FILE_PAGES}, oldCalls...)...)
	for _, with := range []Arg{has(3, unix.MAP_SHARED), has(3, unix.MAP_ANONYMOUS), has(2, unix.PROT_WRITE)} {
		list = append(list, Rule{unix.SYS_MMAP, []Arg{has(2, unix.PROT_EXEC), with}, unix.EACCES})
	}
	for _, call := range []uintptr{unix.SYS_MPROTECT, unix.SYS_PKEY_MPROTECT} {
		when := []Arg{has(2, unix.PROT_EXEC)}
		if gains {
			when = append(when, has(2, unix.PROT_WRITE)) // the rest is the kernel's to tell
		}
		list = append(list, Rule{call, when, unix.EACCES})
	}
	return append(list,
		Rule{unix.SYS_SHMAT, []Arg{has(2, shmExec)}, unix.EACCES},
		Rule{unix.SYS_PERSONALITY, []Arg{has(0, readImpliesExec), lacks(0, 1<<31)}, unix.EPERM}, // a question has all bits
	)
}
