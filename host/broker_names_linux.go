package host

import (
	"context"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// Mkdir makes a directory.
func (d *dir) Mkdir(ctx context.Context, path string) error {
	return d.change(ctx, path, grant.Write, func(p *place) error {
		return unix.Mkdirat(p.parent.fd, p.name, 0o777)
	})
}

// Rmdir removes an empty directory. The root has no name to be removed by.
func (d *dir) Rmdir(ctx context.Context, path string) error {
	return d.change(ctx, path, grant.Delete, func(p *place) error {
		return unix.Unlinkat(p.parent.fd, p.name, unix.AT_REMOVEDIR)
	})
}

// Unlink removes a file or a link.
func (d *dir) Unlink(ctx context.Context, path string) error {
	return d.change(ctx, path, grant.Delete, func(p *place) error {
		return unix.Unlinkat(p.parent.fd, p.name, 0)
	})
}

// change does one thing to one name, if the mode is granted.
func (d *dir) change(ctx context.Context, path string, mode grant.Mode, act func(*place) error) error {
	if err := d.begin(ctx, path, true); err != nil {
		return err
	}
	p, err := d.place(path)
	if err != nil {
		return err
	}
	defer p.close()
	if err := d.s.b.may(mode, p.path); err != nil {
		return err
	}
	return act(p)
}

// pair finds the two places of a rename or a link.
func (d *dir) pair(ctx context.Context, path string, to wasi.Dir, newPath string) (from, dst *place, err error) {
	if err := d.begin(ctx, path, true); err != nil {
		return nil, nil, err
	}
	if image, ok := to.(*imageDir); ok {
		if to, newPath, err = image.destination(newPath); err != nil {
			return nil, nil, err
		}
	}
	other, ok := to.(*dir)
	if !ok {
		return nil, nil, unix.EXDEV
	}
	if err := other.begin(ctx, newPath, true); err != nil {
		return nil, nil, err
	}
	if from, err = d.place(path); err != nil {
		return nil, nil, err
	}
	if dst, err = other.place(newPath); err != nil {
		from.close()
		return nil, nil, err
	}
	return from, dst, nil
}

// Rename gives a file or a directory another name.
func (d *dir) Rename(ctx context.Context, path string, to wasi.Dir, newPath string) error {
	from, dst, err := d.pair(ctx, path, to, newPath)
	if err != nil {
		return err
	}
	defer from.close()
	defer dst.close()
	b := d.s.b
	if err := b.settle(b.enforcer.MayRename(from.path, dst.path), from.path); err != nil {
		return err
	}
	if err := d.mayMoveTree(from, dst); err != nil {
		return err
	}
	return unix.Renameat2(from.parent.fd, from.name, dst.parent.fd, dst.name, 0)
}

// mayMoveTree decides on what is beneath a directory that gets another name.
func (d *dir) mayMoveTree(from, dst *place) error {
	var st unix.Stat_t
	if err := unix.Fstatat(from.parent.fd, from.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || from.path == dst.path {
		return nil
	}
	if subtreeWider(d.s.b.config.Grants.Storage, from.path, dst.path) {
		return d.s.b.settle(grant.Decision{
			Reason: "more is granted beneath " + dst.path + " than beneath " + from.path + ", so a directory can't be renamed to there",
		}, dst.path)
	}
	return nil
}

// Link makes a hard link.
func (d *dir) Link(ctx context.Context, path string, to wasi.Dir, newPath string) error {
	from, dst, err := d.pair(ctx, path, to, newPath)
	if err != nil {
		return err
	}
	defer from.close()
	defer dst.close()
	b := d.s.b
	if err := b.settle(b.enforcer.MayLink(dst.path, from.path), dst.path); err != nil {
		return err
	}
	return unix.Linkat(from.parent.fd, from.name, dst.parent.fd, dst.name, 0)
}

// Symlink makes a symbolic link. It gives the unit nothing, since each opening
// through it is decided anew; but others may follow it, so its target must be
// granted.
func (d *dir) Symlink(ctx context.Context, target, path string) error {
	return d.change(ctx, path, grant.Write, func(p *place) error {
		leads, err := d.leadsTo(p, target)
		if err != nil {
			return d.s.b.refuse(p.path, errEscapes)
		}
		b := d.s.b
		if err := b.settle(b.enforcer.MayLink(p.path, leads), p.path); err != nil {
			return err
		}
		return unix.Symlinkat(target, p.parent.fd, p.name)
	})
}

// leadsTo is the guest path that a new link would lead to: what is there now, what
// would be made there, or what the text says.
func (d *dir) leadsTo(p *place, target string) (string, error) {
	leads, err := linkTarget(p.parent.path, target)
	if strings.HasPrefix(target, "/") {
		return leads, err
	}
	here := strings.TrimPrefix(strings.TrimPrefix(p.parent.path, d.root.guest), "/")
	full := "./" + here + "/" + target
	n, pinErr := d.s.pin(d.root, d.root.fd, full, 0)
	if pinErr == nil {
		return n.path, n.close()
	}
	if pinErr == unix.EXDEV {
		return "", errEscapes
	}
	dirPath, name, splitErr := split(full)
	if splitErr != nil {
		return leads, err
	}
	if n, pinErr = d.s.pin(d.root, d.root.fd, dirPath, unix.O_DIRECTORY); pinErr == nil {
		return join(n.path, name), n.close()
	}
	return leads, err
}

// Readlink says where a symbolic link leads.
func (d *dir) Readlink(ctx context.Context, path string) (string, error) {
	if err := d.begin(ctx, path, false); err != nil {
		return "", err
	}
	n, err := d.pin(path, false, 0)
	if err != nil {
		return "", err
	}
	defer n.close()
	if err := d.s.see(n.path); err != nil {
		return "", err
	}
	if n.kind() != unix.S_IFLNK {
		return "", unix.EINVAL
	}
	return readlink(n.fd)
}

func readlink(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
