//go:build unix

package disk

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

var typeBits = map[uint32]fs.FileMode{
	unix.S_IFREG:  0,
	unix.S_IFDIR:  fs.ModeDir,
	unix.S_IFLNK:  fs.ModeSymlink,
	unix.S_IFIFO:  fs.ModeNamedPipe,
	unix.S_IFSOCK: fs.ModeSocket,
	unix.S_IFCHR:  fs.ModeDevice | fs.ModeCharDevice,
	unix.S_IFBLK:  fs.ModeDevice,
}

// modeOf keeps what is asked about here: the type and the permissions.
func modeOf(mode uint32) fs.FileMode {
	kind, known := typeBits[mode&unix.S_IFMT]
	if !known {
		kind = fs.ModeIrregular
	}
	return fs.FileMode(mode&0o777) | kind
}
