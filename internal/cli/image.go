package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/rootfs"
)

// imageProgram finds a program in an image, whose root filesystem it will have. An
// image that says what it runs needs no arguments.
func (f *runFlags) imageProgram(ctx context.Context, c *console, args []string) (*program, error) {
	root, err := openImage(ctx, f.image, f.resolve)
	if err != nil {
		return nil, err
	}
	if f.resolve && root.Reference != "" && !f.quiet {
		c.note("the image is docker://%s", root.Reference)
	}
	p, err := f.programIn(root, args)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return p, nil
}

func openImage(ctx context.Context, ref string, resolve bool) (*rootfs.Root, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, fail(exitDecline, err, "")
	}
	root, err := rootfs.Open(ctx, ref, rootfs.Options{Store: filepath.Join(cache, "images"), Resolve: resolve})
	var tag *rootfs.TagError
	switch {
	case errors.As(err, &tag):
		return nil, fail(exitDecline, fmt.Errorf("--image: %w", err), "name it by its digest, or let the tag be looked up with --resolve, which says the digest")
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(exitMissing, fmt.Errorf("--image: %w", err), "")
	case err != nil:
		return nil, fail(exitDecline, fmt.Errorf("--image: %w", err), "")
	}
	return root, nil
}

func (f *runFlags) programIn(root *rootfs.Root, args []string) (*program, error) {
	if len(args) == 0 {
		args = append(append(args, root.Config.Entrypoint...), root.Config.Cmd...)
	}
	if len(args) == 0 {
		return nil, fail(exitDecline, errors.New("the image doesn't say what it runs"), "name a program of it after --")
	}
	found, err := root.LookPath(args[0], imagePath(root.Config.Env))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fail(exitDenied, err, "")
	case err != nil:
		return nil, fail(exitMissing, err, "")
	}
	uid, gid, err := root.User()
	if err != nil {
		return nil, fail(exitDecline, fmt.Errorf("--image: %w", err), "")
	}
	return &program{
		name: filepath.Base(found.Path), path: nameInImage(root, args[0], found), args: args[1:], root: root,
		native: &host.Native{
			Image: root.Image, ID: root.ID, Root: root.Dir, Env: root.Config.Env, WorkDir: root.Config.WorkingDir, UID: uid, GID: gid,
			Again: root.Again,
		},
	}, nil
}

// nameInImage is the path by which a program was found: one that is many, as busybox
// is, goes by it. Links are followed when it is started, within the image.
func nameInImage(root *rootfs.Root, name string, found rootfs.Program) string {
	paths := []string{name}
	if !strings.Contains(name, "/") {
		paths = nil
		for _, dir := range strings.Split(imagePath(root.Config.Env), ":") {
			paths = append(paths, path.Join(dir, name))
		}
	}
	for _, p := range paths {
		if !path.IsAbs(p) {
			continue
		}
		if e, err := rootfs.Resolve(root.Image, p); err == nil && e.Path == found.Path {
			return path.Clean(p)
		}
	}
	return found.Path
}

// imagePath is where programs are looked for in an image.
func imagePath(env []string) string {
	for _, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			return path
		}
	}
	return unitPath
}
