package cell

import "golang.org/x/sys/unix"

// archObserved are the older calls that name files.
var archObserved = map[int][]named{
	unix.SYS_OPEN:       {{dir: -1, path: 0, open: 1}},
	unix.SYS_CREAT:      {{dir: -1, path: 0, write: true}},
	unix.SYS_STAT:       {{dir: -1, path: 0, look: true}},
	unix.SYS_LSTAT:      {{dir: -1, path: 0, look: true, link: true}},
	unix.SYS_NEWFSTATAT: {{dir: 0, path: 1, look: true, flags: 3}},
	unix.SYS_ACCESS:     {{dir: -1, path: 0, look: true}},
	unix.SYS_READLINK:   {{dir: -1, path: 0, look: true, link: true}},
	unix.SYS_MKDIR:      {{dir: -1, path: 0, write: true, link: true}},
	unix.SYS_MKNOD:      {{dir: -1, path: 0, write: true, link: true}},
	unix.SYS_RMDIR:      {{dir: -1, path: 0, delete: true, link: true}},
	unix.SYS_UNLINK:     {{dir: -1, path: 0, delete: true, link: true}},
	unix.SYS_RENAME:     renamed(0),
	unix.SYS_LINK:       {{dir: -1, path: 0, read: true, link: true}, {dir: -1, path: 1, write: true, link: true}},
	unix.SYS_SYMLINK:    {{dir: -1, path: 1, write: true, link: true}},
	unix.SYS_CHMOD:      {{dir: -1, path: 0, write: true}},
	unix.SYS_UTIME:      {{dir: -1, path: 0, write: true}},
	unix.SYS_UTIMES:     {{dir: -1, path: 0, write: true}},
	unix.SYS_FUTIMESAT:  {{dir: 0, path: 1, write: true}},
}

// archMode is the argument of an older call that has a mode, or -1, and whether that
// may make devices.
func archMode(n notice) (mode int, makes bool) {
	switch int(n.nr) {
	case unix.SYS_OPEN:
		if n.args[1]&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0 {
			return 2, false
		}
	case unix.SYS_CREAT, unix.SYS_CHMOD, unix.SYS_MKDIR:
		return 1, false
	case unix.SYS_MKNOD:
		return 1, true
	}
	return -1, false
}
