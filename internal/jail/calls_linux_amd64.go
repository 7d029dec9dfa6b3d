package jail

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_X86_64
	otherTable = 0x40000000 // where the numbers of the x32 ABI begin
	statCall   = unix.SYS_NEWFSTATAT
)

// archCalls are older forms that the runtime and libc use here.
var archCalls = []uintptr{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_ARCH_PRCTL}

var archDeadly = []uintptr{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM,
	unix.SYS_MODIFY_LDT}
