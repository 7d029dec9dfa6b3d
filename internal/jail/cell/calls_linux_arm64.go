package cell

import (
	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// archCalls are forms that programs use here.
var archCalls = []uintptr{unix.SYS_FSTATAT, unix.SYS_RENAMEAT}

var archProbed = []probe{{unix.SYS_KEXEC_FILE_LOAD, "kexec_file_load"}}

func archFilter(*jail.Filter, []uint32) {}

// archForks: there is one call that makes processes.
var archForks []uintptr

func archLendNothing(*jail.Filter) {}
