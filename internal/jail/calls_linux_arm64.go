package jail

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	otherTable = 0 // there is one table
	statCall   = unix.SYS_FSTATAT
)

var archCalls []uintptr

var archDeadly = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
