package rootfs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// builder writes a merged tree down. Each folder is made by it and open while it is
// filled, and each name is one that cleanName let through, so no path is resolved.
type builder struct {
	stages []int // folders of the layers' files
	root   bool  // of this machine: it may look into what it may not look into
}

// build fills an empty folder of ours.
func (b *builder) build(dir int, n *node) error {
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		if err := b.put(dir, name, n.children[name]); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	if !b.root && n.mode&0o500 != 0o500 {
		return errors.New("is a folder that its owner can't look into, and an ordinary user couldn't check; unpack the image as root")
	}
	return chmodFD(dir, n.mode)
}

func (b *builder) put(dir int, name string, n *node) error {
	switch {
	case n.isDir():
		return b.putDir(dir, name, n)
	case n.file != nil:
		return b.putFile(dir, name, n.file)
	}
	return named("link", "", unix.Symlinkat(n.target, dir, name))
}

func (b *builder) putDir(dir int, name string, n *node) error {
	fd, err := makeDir(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return b.build(fd, n)
}

// putFile moves a file to its only name, or gives it one of several.
func (b *builder) putFile(dir int, name string, c *content) error {
	stage := b.stages[c.staged.layer]
	if c.names > 1 {
		return named("link", "", unix.Linkat(stage, c.staged.name(), dir, name, 0))
	}
	return named("rename", "", unix.Renameat2(stage, c.staged.name(), dir, name, unix.RENAME_NOREPLACE))
}

// makeDir makes a folder and opens it.
func makeDir(dir int, name string) (int, error) {
	if err := unix.Mkdirat(dir, name, 0o700); err != nil {
		return -1, named("mkdir", name, err)
	}
	return openDir(dir, name)
}

// openDir opens a folder that is no link.
func openDir(dir int, name string) (int, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	return fd, named("open", name, err)
}

// asRoot says whether this process may read whatever it likes.
func asRoot() bool { return os.Geteuid() == 0 }
