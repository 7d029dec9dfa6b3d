//go:build amd64 || arm64

package jail

import (
	"slices"

	"golang.org/x/sys/unix"
)

// What a jailed process calls: what the Go runtime needs, one socket, and files
// that are open. Whatever isn't named anywhere here is answered with EPERM, so
// that a library that tries something newer falls back instead of dying.
var plainCalls = []uintptr{
	// The messages, the runtime's sleeping and waking, the clock.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_RECVMSG, unix.SYS_SENDTO, unix.SYS_FUTEX, unix.SYS_NANOSLEEP,
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_SCHED_YIELD, unix.SYS_PPOLL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
	// Memory. Executable memory is looked at below.
	unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK,
	// Threads and their signals.
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_RESTART_SYSCALL, unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_GETRANDOM, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	// Files that are open.
	unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_FSTATFS, unix.SYS_LSEEK, unix.SYS_DUP, unix.SYS_READV, unix.SYS_WRITEV,
	unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_GETDENTS64, unix.SYS_FTRUNCATE,
	unix.SYS_FALLOCATE, unix.SYS_FADVISE64, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
}

// pathCalls find files by their names. What they reach is Landlock's to say.
var pathCalls = []uintptr{
	unix.SYS_OPENAT, unix.SYS_OPENAT2, statCall, unix.SYS_READLINKAT, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT,
	unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_UTIMENSAT,
}

// deadlyCalls have no place in a host process whatever went wrong in it: to try
// one is to be out of the engine. The process ends there and then, which the
// supervisor sees and records (§7.5).
var deadlyCalls = []uintptr{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_TKILL,
	unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_KCMP,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_PKEY_MPROTECT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_SYSLOG, unix.SYS_PERSONALITY,
	unix.SYS_VHANGUP, unix.SYS_MEMFD_SECRET,
}

// namespaces are the flags of clone that a thread doesn't have.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// callFilter is the filter of a process.
func callFilter(pid int, paths bool) program {
	d := dispatch{}
	d.each(allow, slices.Concat(plainCalls, archCalls))
	if paths {
		d.each(allow, pathCalls)
	}
	d.each(kill, slices.Concat(deadlyCalls, archDeadly))
	// The code that runs is loaded; there is to be no other.
	d.argLacks(unix.SYS_MMAP, 2, unix.PROT_EXEC, kill)
	d.argLacks(unix.SYS_MPROTECT, 2, unix.PROT_EXEC, kill)
	d.argIn(unix.SYS_TGKILL, 0, []uint32{uint32(pid)}, kill)
	d.argIn(unix.SYS_KILL, 0, []uint32{uint32(pid)}, kill)
	d.argHas(unix.SYS_CLONE, 0, unix.CLONE_VM|unix.CLONE_THREAD, namespaces, kill)
	d.each(fail(unix.ENOSYS), []uintptr{unix.SYS_CLONE3}) // its flags lie in memory; libc then uses clone
	// F_SETOWN and F_SETSIG would have the kernel send signals on our behalf.
	d.argIn(unix.SYS_FCNTL, 1, []uint32{unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL,
		unix.F_SETFL}, fail(unix.EPERM))
	d.argIn(unix.SYS_PRCTL, 0, []uint32{unix.PR_SET_VMA}, fail(unix.EPERM)) // the runtime names its memory
	return d.filter(fail(unix.EPERM))
}
