package execwatch

import "golang.org/x/sys/unix"

var oldCalls []uintptr

const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	otherTable = 0 // there is none
)
