package host

import (
	"context"
	"syscall"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// change does one thing to a name that leads out of the image. Within it nothing
// can be changed.
func (d *imageDir) change(p string, mode grant.Mode, act func(out wasi.Dir, rest string) error) error {
	out, rest, err := d.route(p, mode)
	switch {
	case err != nil:
		return err
	case out == nil:
		return d.b.readOnly(d.name(p))
	}
	return act(out, rest)
}

// Mkdir makes a directory.
func (d *imageDir) Mkdir(ctx context.Context, p string) error {
	return d.change(p, grant.Write, func(out wasi.Dir, rest string) error { return out.Mkdir(ctx, rest) })
}

// Rmdir removes an empty directory.
func (d *imageDir) Rmdir(ctx context.Context, p string) error {
	return d.change(p, grant.Delete, func(out wasi.Dir, rest string) error { return out.Rmdir(ctx, rest) })
}

// Unlink removes a file or a link.
func (d *imageDir) Unlink(ctx context.Context, p string) error {
	return d.change(p, grant.Delete, func(out wasi.Dir, rest string) error { return out.Unlink(ctx, rest) })
}

// Rename gives a file or a directory another name.
func (d *imageDir) Rename(ctx context.Context, p string, to wasi.Dir, newPath string) error {
	return d.change(p, grant.Delete, func(out wasi.Dir, rest string) error { return out.Rename(ctx, rest, to, newPath) })
}

// Link makes a hard link.
func (d *imageDir) Link(ctx context.Context, p string, to wasi.Dir, newPath string) error {
	return d.change(p, grant.Read, func(out wasi.Dir, rest string) error { return out.Link(ctx, rest, to, newPath) })
}

// Symlink makes a symbolic link.
func (d *imageDir) Symlink(ctx context.Context, target, p string) error {
	return d.change(p, grant.Write, func(out wasi.Dir, rest string) error { return out.Symlink(ctx, target, rest) })
}

// SetTimesAt changes a path's times.
func (d *imageDir) SetTimesAt(ctx context.Context, p string, follow bool, t wasi.Times) error {
	return d.change(p, grant.Write, func(out wasi.Dir, rest string) error { return out.SetTimesAt(ctx, rest, follow, t) })
}

// SetTimes changes the directory's own times.
func (d *imageDir) SetTimes(context.Context, wasi.Times) error {
	return d.b.readOnly(d.node.entry.Path)
}

// destination is where a rename or a link to a name beneath d goes.
func (d *imageDir) destination(newPath string) (wasi.Dir, string, error) {
	out, rest, err := d.route(newPath, grant.Write)
	if err == nil && out == nil {
		err = d.b.readOnly(d.name(newPath))
	}
	if err != nil {
		return nil, "", err
	}
	return out, rest, nil
}

// unwritable is what an open file of the image can't be asked for.
type unwritable struct{}

func (unwritable) Write(context.Context, [][]byte) (int, error)         { return 0, syscall.EBADF }
func (unwritable) Pwrite(context.Context, [][]byte, int64) (int, error) { return 0, syscall.EBADF }
func (unwritable) Allocate(context.Context, int64, int64) error         { return syscall.EROFS }
func (unwritable) SetSize(context.Context, int64) error                 { return syscall.EROFS }
func (unwritable) SetTimes(context.Context, wasi.Times) error           { return syscall.EROFS }
