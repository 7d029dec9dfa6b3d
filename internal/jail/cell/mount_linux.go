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

// own makes a folder of the unit's own at a path of the view: in memory, and gone
// with it. All of them are parts of one filesystem.
func (v *view) own(at string, mode uint32) error {
	attributes := uint64(noSuid | noDev)
	if v.order.NoExec {
		attributes |= noExec
	}
	if v.base.Host { // the root is that filesystem
		if err := v.place(at, true); err != nil {
			return err
		}
		if err := unix.Chmod(at, mode); err != nil {
			return &os.PathError{Op: "chmod", Path: at, Err: err}
		}
		return bind(here, at, at, attributes, false)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(at, "/"), "/", ".")
	if err := unix.Mkdirat(v.memory, name, mode); err != nil {
		return &os.PathError{Op: "mkdir", Path: at, Err: err}
	}
	if err := v.place(at, true); err != nil {
		return err
	}
	return bind(v.memory, name, at, attributes, false)
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
	var st unix.Stat_t
	err := unix.Stat(at, &st)
	if err == nil {
		if have := st.Mode&unix.S_IFMT == unix.S_IFDIR; have != dir {
			return fmt.Errorf("%s: a folder and a file can't cover each other", at)
		}
		return nil
	}
	above := path.Dir(at)
	if above == at {
		return &os.PathError{Op: "stat", Path: at, Err: err}
	}
	if err := v.place(above, true); err != nil {
		return err
	}
	if err := unix.Stat(above, &st); err != nil {
		return &os.PathError{Op: "stat", Path: above, Err: err}
	}
	if !v.owned[uint64(st.Dev)] {
		return fmt.Errorf("%s: %w", at, errNoPlace)
	}
	return makePlace(at, dir)
}

// makePlace makes a mount point where there is nothing.
func makePlace(at string, dir bool) error {
	if !dir {
		return makeFile(at, nil, 0o444)
	}
	if err := unix.Mkdir(at, 0o755); err != nil {
		return &os.PathError{Op: "mkdir", Path: at, Err: err}
	}
	return nil
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
