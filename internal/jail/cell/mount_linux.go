//go:build amd64 || arm64

package cell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes of mounts.
const (
	readOnly = unix.MOUNT_ATTR_RDONLY
	noSuid   = unix.MOUNT_ATTR_NOSUID
	noDev    = unix.MOUNT_ATTR_NODEV
	noExec   = unix.MOUNT_ATTR_NOEXEC
)

const here = unix.AT_FDCWD

// bind binds a place, found from a directory, to a path of the view.
func bind(dir int, name string, to string, attributes uint64, recursive bool) error {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_SYMLINK_NOFOLLOW)
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	set := uint(unix.AT_EMPTY_PATH)
	if recursive {
		flags |= unix.AT_RECURSIVE
		set |= unix.AT_RECURSIVE
	}
	tree, err := unix.OpenTree(dir, name, flags)
	if err != nil {
		return fmt.Errorf("bind %s: %w", to, os.NewSyscallError("open_tree", err))
	}
	defer unix.Close(tree)
	if attributes != 0 {
		if err := unix.MountSetattr(tree, "", set, &unix.MountAttr{Attr_set: attributes}); err != nil {
			return fmt.Errorf("bind %s: %w", to, os.NewSyscallError("mount_setattr", err))
		}
	}
	if err := unix.MoveMount(tree, "", here, to, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS); err != nil {
		return fmt.Errorf("bind %s: %w", to, os.NewSyscallError("move_mount", err))
	}
	return nil
}

// tmpfs mounts memory at a path of the view.
func (v *view) tmpfs(at string, mode string) error {
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if v.order.NoExec {
		flags |= unix.MS_NOEXEC
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", flags, "mode="+mode+v.size()); err != nil {
		return fmt.Errorf("%s: %w", at, os.NewSyscallError("mount tmpfs", err))
	}
	return nil
}

// size bounds a tmpfs where memory is bounded: what doesn't fit is an error to who
// writes it, and not the end of the unit.
func (v *view) size() string {
	if v.order.Limits.Memory == 0 {
		return ""
	}
	return fmt.Sprintf(",size=%d", v.order.Limits.Memory)
}

// setHere changes the attributes of the mount at a path.
func setHere(at string, attributes uint64) error {
	if err := unix.MountSetattr(here, at, 0, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return fmt.Errorf("%s: %w", at, os.NewSyscallError("mount_setattr", err))
	}
	return nil
}

var errNoPlace = errors.New("there is no such place, and nothing is made where the host would see it")

// place makes a mount point, and what is missing above it, in what is the cell's
// own. Links are followed within the view.
func (v *view) place(at string, dir bool) error {
	if !strings.HasPrefix(at, "/") {
		return fmt.Errorf("%s: %w", at, errNoPlace)
	}
	var st unix.Stat_t
	if err := unix.Stat(at, &st); err == nil {
		if have := st.Mode&unix.S_IFMT == unix.S_IFDIR; have != dir {
			return fmt.Errorf("%s: a folder and a file can't cover each other", at)
		}
		return nil
	}
	above := path.Dir(at)
	if err := v.place(above, true); err != nil {
		return err
	}
	if err := unix.Stat(above, &st); err != nil {
		return &os.PathError{Op: "stat", Path: above, Err: err}
	}
	if !v.own[uint64(st.Dev)] {
		return fmt.Errorf("%s: %w", at, errNoPlace)
	}
	if dir {
		if err := unix.Mkdir(at, 0o755); err != nil {
			return &os.PathError{Op: "mkdir", Path: at, Err: err}
		}
		return nil
	}
	return makeFile(at, nil, 0o444)
}

func makeFile(at string, data []byte, mode uint32) error {
	fd, err := unix.Open(at, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return &os.PathError{Op: "create", Path: at, Err: err}
	}
	defer unix.Close(fd)
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil {
			return &os.PathError{Op: "write", Path: at, Err: err}
		}
		data = data[n:]
	}
	return nil
}
