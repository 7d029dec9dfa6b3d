package cell

import (
	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/jail"
)

// archCalls are older forms that programs use here.
var archCalls = []uintptr{
	unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_ACCESS, unix.SYS_PIPE, unix.SYS_SELECT,
	unix.SYS_POLL, unix.SYS_DUP2, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_GETDENTS, unix.SYS_RENAME, unix.SYS_RENAMEAT,
	unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_LINK, unix.SYS_UNLINK, unix.SYS_SYMLINK, unix.SYS_READLINK, unix.SYS_CHMOD,
	unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT, unix.SYS_GETPGRP, unix.SYS_PAUSE,
	unix.SYS_ALARM, unix.SYS_TIME, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_SIGNALFD, unix.SYS_EVENTFD,
	unix.SYS_INOTIFY_INIT, unix.SYS_ARCH_PRCTL, unix.SYS_MAP_SHADOW_STACK, unix.SYS_SYSFS, unix.SYS_USTAT,
}

var archProbed = []probe{
	{unix.SYS_IOPL, "iopl"}, {unix.SYS_IOPERM, "ioperm"}, {unix.SYS_MODIFY_LDT, "modify_ldt"},
	{unix.SYS_KEXEC_FILE_LOAD, "kexec_file_load"}, {unix.SYS_MKNOD, "mknod"}, {unix.SYS_CREATE_MODULE, "create_module"},
}

func archFilter(f *jail.Filter, fileTypes []uint32) {
	f.Masked(unix.SYS_MKNOD, 1, unix.S_IFMT, fileTypes, jail.Notify)
}

// archForks are the older calls that make processes.
var archForks = []uintptr{unix.SYS_FORK, unix.SYS_VFORK}

func archLendNothing(f *jail.Filter) {
	for call, mode := range map[uintptr]uint32{unix.SYS_CHMOD: 1, unix.SYS_MKDIR: 1, unix.SYS_CREAT: 1} {
		f.ArgLacks(call, mode, lends, jail.Fail(unix.EPERM))
	}
	f.ArgsLack(unix.SYS_OPEN, 2, lends, 1, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, jail.Fail(unix.EPERM))
	f.Masked(unix.SYS_MKNOD, 1, unix.S_IFMT|lends, []uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK}, jail.Notify)
}
