//go:build amd64 || arm64

package cell

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// namespaces are the flags that make namespaces, in clone and unshare.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// same says in an id's place that the id stays.
const same = 0xffffffff

// callFilter is what a unit's processes may call. What isn't known is answered as
// by a kernel that doesn't have it, so that libraries fall back. What only a
// privileged process needs is asked about, so that it is refused and seen.
//
// Outside says that the unit can write to what is others' too: then it makes
// nothing that lends the caller's rights to whoever runs it. Gated says that
// connections are made by the first process, nowhere that they are asked about,
// counted that new processes are, observed that whatever names a file or address is.
func callFilter(uid, gid uint32, outside, gated, nowhere, counted, observed bool) []unix.SockFilter {
	f := jail.NewFilter()
	f.Answer(jail.Allow, slices.Concat(plainCalls, archCalls)...)
	for _, list := range [][]probe{probedCalls, archProbed} {
		for _, p := range list {
			f.Answer(jail.Notify, p.call)
		}
	}
	f.Answer(jail.Fail(unix.EPERM), deniedCalls...)
	f.ArgLacks(unix.SYS_CLONE, 0, namespaces, jail.Notify)
	f.ArgLacks(unix.SYS_UNSHARE, 0, namespaces|unix.CLONE_NEWTIME, jail.Notify)
	f.Answer(jail.Fail(unix.ENOSYS), unix.SYS_CLONE3) // its flags lie in memory; libraries fall back to clone
	users, groups := []uint32{uid, same}, []uint32{gid, same}
	f.ArgsIn(unix.SYS_SETUID, 1, users[:1], jail.Notify)
	f.ArgsIn(unix.SYS_SETGID, 1, groups[:1], jail.Notify)
	f.ArgsIn(unix.SYS_SETREUID, 2, users, jail.Notify)
	f.ArgsIn(unix.SYS_SETREGID, 2, groups, jail.Notify)
	f.ArgsIn(unix.SYS_SETRESUID, 3, users, jail.Notify)
	f.ArgsIn(unix.SYS_SETRESGID, 3, groups, jail.Notify)
	f.ArgsIn(unix.SYS_SETFSUID, 1, users, jail.Notify)
	f.ArgsIn(unix.SYS_SETFSGID, 1, groups, jail.Notify)
	// Typing into a terminal, and what else reaches past it.
	f.ArgNotIn(unix.SYS_IOCTL, 1, []uint32{unix.TIOCSTI, unix.TIOCCONS, tiocLinux}, jail.Notify)
	// Families that a network namespace holds in. Others are the host's.
	f.ArgIn(unix.SYS_SOCKET, 0, families, jail.Fail(unix.EAFNOSUPPORT))
	f.ArgIn(unix.SYS_SOCKETPAIR, 0, families[:1], jail.Fail(unix.EAFNOSUPPORT))
	f.ArgIn(unix.SYS_PERSONALITY, 0, []uint32{0, same, 0x0040000, 0x0008}, jail.Fail(unix.EPERM)) // none, a question, ADDR_NO_RANDOMIZE, PER_LINUX32's bit
	f.ArgNotIn(unix.SYS_PRCTL, 0, []uint32{unix.PR_SET_SECCOMP}, jail.Fail(unix.EINVAL))
	fileTypes := []uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK}
	f.Masked(unix.SYS_MKNODAT, 2, unix.S_IFMT, fileTypes, jail.Notify)
	archFilter(f, fileTypes)
	if outside {
		lendNothing(f)
	}
	if gated {
		gate(f)
	}
	if counted {
		count(f)
	}
	if nowhere {
		f.Answer(jail.Notify, unix.SYS_CONNECT)
	}
	if observed {
		observe(f)
	}
	return f.Program(jail.Fail(unix.ENOSYS))
}

// families are the sockets that there are.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

const tiocLinux = 0x541c

// lends are the bits of a mode that let others run a file with its owner's rights.
const lends = unix.S_ISUID | unix.S_ISGID

// lendNothing refuses to make files that lend rights. Whose mode lies in memory is
// answered as by a kernel that doesn't have the call.
func lendNothing(f *jail.Filter) {
	for call, mode := range map[uintptr]uint32{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKDIRAT: 2} {
		f.ArgLacks(call, mode, lends, jail.Fail(unix.EPERM))
	}
	f.ArgsLack(unix.SYS_OPENAT, 3, lends, 2, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, jail.Fail(unix.EPERM))
	f.Answer(jail.Fail(unix.ENOSYS), unix.SYS_OPENAT2)
	f.Masked(unix.SYS_MKNODAT, 2, unix.S_IFMT|lends, []uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK}, jail.Notify)
	archLendNothing(f)
}

// probe is a call that only a privileged process needs, by the name under which
// it is recorded.
type probe struct {
	call uintptr
	name string
}

var probedCalls = []probe{
	{unix.SYS_MOUNT, "mount"}, {unix.SYS_UMOUNT2, "umount"}, {unix.SYS_PIVOT_ROOT, "pivot_root"}, {unix.SYS_CHROOT, "chroot"},
	{unix.SYS_MOVE_MOUNT, "move_mount"}, {unix.SYS_OPEN_TREE, "open_tree"}, {unix.SYS_FSOPEN, "fsopen"},
	{unix.SYS_FSCONFIG, "fsconfig"}, {unix.SYS_FSMOUNT, "fsmount"}, {unix.SYS_FSPICK, "fspick"}, {unix.SYS_MOUNT_SETATTR, "mount_setattr"},
	{sysOpenTreeAttr, "open_tree_attr"},
	{unix.SYS_SETNS, "setns"}, {unix.SYS_BPF, "bpf"}, {unix.SYS_PERF_EVENT_OPEN, "perf_event_open"},
	{unix.SYS_PTRACE, "ptrace"}, {unix.SYS_PROCESS_VM_READV, "process_vm_readv"}, {unix.SYS_PROCESS_VM_WRITEV, "process_vm_writev"},
	{unix.SYS_PIDFD_GETFD, "pidfd_getfd"}, {unix.SYS_KCMP, "kcmp"},
	{unix.SYS_INIT_MODULE, "init_module"}, {unix.SYS_FINIT_MODULE, "finit_module"}, {unix.SYS_DELETE_MODULE, "delete_module"},
	{unix.SYS_KEXEC_LOAD, "kexec_load"}, {unix.SYS_REBOOT, "reboot"}, {unix.SYS_SWAPON, "swapon"}, {unix.SYS_SWAPOFF, "swapoff"},
	{unix.SYS_ACCT, "acct"}, {unix.SYS_QUOTACTL, "quotactl"}, {unix.SYS_QUOTACTL_FD, "quotactl_fd"},
	{unix.SYS_SETHOSTNAME, "sethostname"}, {unix.SYS_SETDOMAINNAME, "setdomainname"},
	{unix.SYS_SETTIMEOFDAY, "settimeofday"}, {unix.SYS_CLOCK_SETTIME, "clock_settime"}, {unix.SYS_SYSLOG, "syslog"},
	{unix.SYS_OPEN_BY_HANDLE_AT, "open_by_handle_at"}, {unix.SYS_SETGROUPS, "setgroups"}, {unix.SYS_CAPSET, "capset"},
	{unix.SYS_FANOTIFY_INIT, "fanotify_init"}, {unix.SYS_VHANGUP, "vhangup"}, {unix.SYS_NFSSERVCTL, "nfsservctl"},
	{unix.SYS_LOOKUP_DCOOKIE, "lookup_dcookie"}, {unix.SYS_UNSHARE, "unshare"}, {unix.SYS_CLONE, "clone"},
	{unix.SYS_SETUID, "setuid"}, {unix.SYS_SETGID, "setgid"}, {unix.SYS_SETREUID, "setreuid"}, {unix.SYS_SETREGID, "setregid"},
	{unix.SYS_SETRESUID, "setresuid"}, {unix.SYS_SETRESGID, "setresgid"}, {unix.SYS_SETFSUID, "setfsuid"}, {unix.SYS_SETFSGID, "setfsgid"},
	{unix.SYS_IOCTL, "ioctl"}, {unix.SYS_MKNODAT, "mknod"},
}

const sysOpenTreeAttr = 467 // Linux 6.15's

// deniedCalls are answered with EPERM and not noted: libraries try them, and go
// on without.
var deniedCalls = []uintptr{
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP,
	unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_ADJTIMEX,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_MEMFD_SECRET, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

// Covers reports whether a cell refuses a call by itself and notes it, or, for a
// call that makes processes or leaves namespaces, if it has those flags. A filter
// of someone else's that refused it as well would keep it from being noted.
func Covers(call uintptr, flags uint32) bool {
	switch call {
	case unix.SYS_CLONE, unix.SYS_UNSHARE:
		return flags != 0 && flags&namespaces == flags
	case unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
		unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_IOCTL, unix.SYS_MKNODAT:
		return false // it depends
	}
	return slices.ContainsFunc(probedCalls, func(p probe) bool { return p.call == call })
}

func probeName(call int) string {
	for _, list := range [][]probe{probedCalls, archProbed} {
		for _, p := range list {
			if int(p.call) == call {
				return p.name
			}
		}
	}
	return "call"
}
