package host

import (
	"context"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// openTries is how often a name may appear or vanish under our hands, and how
// many links a file can be made through.
const openTries = 8

// Open opens or makes a file, or opens a directory. It first finds what is there
// without opening it (a device or a fifo must not even notice), decides, and then
// opens that very file.
func (d *dir) Open(ctx context.Context, path string, how wasi.OpenHow) (wasi.File, wasi.Dir, error) {
	if err := d.begin(ctx, path, how.Create || how.Trunc); err != nil {
		return nil, nil, err
	}
	for range openTries {
		f, sub, again, err := d.open(path, how)
		if !again {
			return wrap(f, sub, err)
		}
		if path, err = d.through(path, how); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, unix.ELOOP
}

// wrap keeps typed nils out of the interfaces.
func wrap(f *file, sub *dir, err error) (wasi.File, wasi.Dir, error) {
	switch {
	case err != nil:
		return nil, nil, err
	case f != nil:
		return f, nil, nil
	}
	return nil, sub, nil
}

// open is one try; again says that the name changed in between, or that it is a
// link to a file that isn't there yet.
func (d *dir) open(path string, how wasi.OpenHow) (f *file, sub *dir, again bool, err error) {
	var flags uint64
	if !how.Follow {
		flags = unix.O_NOFOLLOW
	}
	n, err := d.s.pin(d.root, d.fd, path, flags)
	if err == unix.ENOENT && how.Create {
		f, err = d.create(path, how)
		return f, nil, err == unix.EEXIST && !how.Exclusive, err
	}
	if err != nil {
		return nil, nil, false, d.fail(path, err)
	}
	f, sub, err = d.openNode(n, how)
	if err != nil || f != nil {
		if closeErr := n.close(); err == nil {
			err = closeErr
		}
	}
	return f, sub, false, err
}

// openNode opens what was found. A directory keeps the node's descriptor.
func (d *dir) openNode(n *node, how wasi.OpenHow) (*file, *dir, error) {
	if how.Create && how.Exclusive {
		if err := d.s.b.may(grant.Write, n.path); err != nil {
			return nil, nil, err
		}
		return nil, nil, unix.EEXIST
	}
	switch n.kind() {
	case unix.S_IFREG:
		f, err := d.openFile(n, how)
		return f, nil, err
	case unix.S_IFDIR:
		sub, err := d.openDir(n, how)
		return nil, sub, err
	}
	if err := d.s.see(n.path); err != nil {
		return nil, nil, err
	}
	if n.kind() == unix.S_IFLNK {
		return nil, nil, unix.ELOOP
	}
	return nil, nil, d.s.b.refuse(n.path, errDenied) // a device, a fifo, a socket
}

func (d *dir) openDir(n *node, how wasi.OpenHow) (*dir, error) {
	if err := d.s.see(n.path); err != nil {
		return nil, err
	}
	if how.Write || how.Trunc || how.Create {
		return nil, unix.EISDIR
	}
	return &dir{s: d.s, root: d.root, fd: n.fd, list: -1, own: true}, nil
}

func (d *dir) openFile(n *node, how wasi.OpenHow) (*file, error) {
	if err := d.mayOpen(n.path, how); err != nil {
		return nil, err
	}
	if how.Directory {
		return nil, unix.ENOTDIR
	}
	if how.Trunc && !how.Write {
		if err := truncate(n.fd); err != nil {
			return nil, err
		}
	}
	fd, err := reopen(n.fd, how)
	if err != nil {
		return nil, err
	}
	return &file{s: d.s, fd: fd, path: n.path}, nil
}

// mayOpen asks for each mode that the opening needs; for none of them, that the
// unit may know of the file.
func (d *dir) mayOpen(path string, how wasi.OpenHow) error {
	if how.Read {
		if err := d.s.b.may(grant.Read, path); err != nil {
			return err
		}
	}
	if how.Write || how.Trunc {
		if err := d.s.b.may(grant.Write, path); err != nil {
			return err
		}
	}
	return d.s.see(path)
}

// access is the host's flags for what a unit does with a file. With neither
// reading nor writing the descriptor is good for looking alone.
func access(how wasi.OpenHow) int {
	flags := unix.O_CLOEXEC | unix.O_NOCTTY
	switch {
	case how.Read && how.Write:
		flags |= unix.O_RDWR
	case how.Write:
		flags |= unix.O_WRONLY
	case !how.Read:
		return flags | unix.O_PATH
	}
	if how.Flags&wasi.FlagAppend != 0 {
		flags |= unix.O_APPEND
	}
	if how.Flags&(wasi.FlagSync|wasi.FlagRsync) != 0 {
		flags |= unix.O_SYNC
	} else if how.Flags&wasi.FlagDsync != 0 {
		flags |= unix.O_DSYNC
	}
	return flags
}

// reopen opens what was found for what the unit wants of it.
func reopen(fd int, how wasi.OpenHow) (int, error) {
	flags := access(how)
	if flags&unix.O_PATH != 0 {
		return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	if how.Trunc && how.Write {
		flags |= unix.O_TRUNC
	}
	return openAgain(fd, flags)
}

func truncate(fd int) error {
	w, err := openAgain(fd, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	return unix.Close(w)
}

// create makes a file that isn't there: O_EXCL, so that what is opened is what was
// made, by nobody else.
func (d *dir) create(path string, how wasi.OpenHow) (*file, error) {
	p, err := d.place(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	how.Trunc = true // asks for write
	if err := d.mayOpen(p.path, how); err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(p.name, "/"):
		return nil, unix.EISDIR
	case how.Directory:
		return nil, unix.EINVAL
	}
	flags := access(how)
	if flags&unix.O_PATH != 0 {
		flags = unix.O_WRONLY | unix.O_CLOEXEC
	}
	fd, err := openRetry(p.parent.fd, p.name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, err
	}
	return &file{s: d.s, fd: fd, path: p.path}, nil
}

// through finds the next path to try after a name was in the way of a new file:
// a dangling link's target when links are followed, else the same path.
func (d *dir) through(name string, how wasi.OpenHow) (string, error) {
	if !how.Follow {
		return name, nil
	}
	n, err := d.pin(name, false, 0)
	if err == unix.ENOENT {
		return name, nil
	}
	if err != nil {
		return "", err
	}
	defer n.close()
	if n.kind() != unix.S_IFLNK {
		return name, nil
	}
	target, err := readlink(n.fd)
	if err != nil {
		return "", err
	}
	if path.IsAbs(target) {
		return "", d.s.b.refuse(n.path, errEscapes)
	}
	dirPath, _, err := split(name)
	return dirPath + "/" + target, err
}
