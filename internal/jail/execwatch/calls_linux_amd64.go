package execwatch

import "golang.org/x/sys/unix"

// oldCalls map files by ways of their own.
var oldCalls = []uintptr{unix.SYS_USELIB}

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// otherTable is the first number of the processor's other table of calls.
	otherTable = 0x40000000
)
