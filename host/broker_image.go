package host

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
	"github.com/joulebox/joulebox/unit"
)

// A unit reads its own image without a grant: the image id says what is in it,
// so nothing of the host is reached. What is read is counted, and not held to the
// I/O ceilings, which bound a device that others share (§2.4). Nothing of it can
// be changed.

// checkImage refuses grants and mounts that lie over the image: the record would
// name what the unit didn't get to see.
func (c BrokerConfig) checkImage() error {
	if c.Image == nil {
		return nil
	}
	root := c.Image.root
	for _, b := range c.Grants.Bases() {
		if b.Path != "/" && !root.lacks(b.Path) {
			return fmt.Errorf("storage grant for %q: it would lie over the unit's own image; name another path", b.Path)
		}
	}
	for _, m := range c.Mounts {
		if m.Guest == "/" || !root.lacks(m.Guest) {
			return fmt.Errorf("mount %q: it would lie over the unit's own image; mount it at another path", m.Guest)
		}
	}
	return nil
}

// preopens are the directories that the unit begins with. An image is its root:
// what is granted is found beneath it, by the names that it has none of.
func (b *Broker) preopens() ([]wasi.Preopen, error) {
	list, err := b.storage.preopens()
	if err != nil || b.config.Image == nil {
		return list, err
	}
	all := []wasi.Preopen{{Name: "/", Dir: b.imageRoot()}}
	for _, p := range list {
		if p.Name == "/" {
			err = p.Dir.Close()
			continue
		}
		all = append(all, p)
	}
	return all, err
}

func (b *Broker) imageRoot() *imageDir { return &imageDir{b: b, node: b.config.Image.root} }

// imageDir is an open directory of the image.
type imageDir struct {
	b    *Broker
	node *imageNode
}

// route says where a path leads: out of the image, to a directory of the storage
// grants and the path from there, or (out is nil) within it.
func (d *imageDir) route(p string, mode grant.Mode) (out wasi.Dir, rest string, err error) {
	if strings.HasPrefix(p, "/") {
		return nil, "", d.b.refuse(p, errEscapes)
	}
	if d.node.lacks(p) {
		return d.outside(p, mode)
	}
	return nil, "", nil
}

// find resolves a path within the image.
func (d *imageDir) find(p string, follow bool) (*imageNode, error) {
	d.b.counts.reads.Add(1)
	n, err := d.node.walk(p, follow)
	if err == error(errEscapes) {
		return nil, d.b.refuse(d.name(p), errEscapes)
	}
	return n, err
}

// name is a path's guest path, to speak of it.
func (d *imageDir) name(p string) string { return path.Join(d.node.entry.Path, p) }

// outside finds a path that the image doesn't hold in what is granted. To a C
// library a relative name and one beneath the root are the same, so where the
// root has nothing for it the name counts from the working directory.
func (d *imageDir) outside(p string, mode grant.Mode) (wasi.Dir, string, error) {
	guest, err := grant.CanonicalPath("/" + p)
	if err != nil {
		return nil, "", syscall.EINVAL
	}
	s, wd := d.b.storage, d.b.config.WorkDir
	if wd != "" && !s.visible(guest) && (s.visible(path.Join(wd, guest)) || !nameExists(guest)) {
		guest = path.Join(wd, guest)
	}
	out, rest, err := s.find(guest, wasi.OpenHow{Write: mode == grant.Write})
	if err != nil {
		return nil, "", err // out may hold a typed nil
	}
	if strings.HasSuffix(p, "/") {
		rest += "/"
	}
	return out, rest, nil
}

// nameExists reports whether the host's root has the path's first name. It decides
// which reading of a refused name people are told of, and nothing else.
func nameExists(guest string) bool {
	first, _, _ := strings.Cut(guest[1:], "/")
	_, err := os.Lstat("/" + first)
	return err == nil
}

// readOnly refuses to change the image.
func (b *Broker) readOnly(path string) error {
	b.deny(grant.Decision{Reason: "write of " + path + ": the unit's image is read-only"})
	return b.refuse(path, wasi.ERofs)
}

// Open opens a file or a directory.
func (d *imageDir) Open(ctx context.Context, p string, how wasi.OpenHow) (wasi.File, wasi.Dir, error) {
	mode := grant.Read
	if how.Write || how.Create || how.Trunc {
		mode = grant.Write
	}
	out, rest, err := d.route(p, mode)
	if err != nil {
		return nil, nil, err
	}
	if out != nil {
		return out.Open(ctx, rest, how)
	}
	n, err := d.find(p, how.Follow)
	switch {
	case err == syscall.ENOENT && how.Create:
		return nil, nil, d.b.readOnly(d.name(p))
	case err != nil:
		return nil, nil, err
	case how.Create && how.Exclusive:
		return nil, nil, syscall.EEXIST
	}
	return d.open(n, how)
}

func (d *imageDir) open(n *imageNode, how wasi.OpenHow) (wasi.File, wasi.Dir, error) {
	write := how.Write || how.Trunc
	switch n.entry.Type {
	case unit.Link:
		return nil, nil, syscall.ELOOP // it wasn't followed
	case unit.Dir:
		if write || how.Create {
			return nil, nil, syscall.EISDIR
		}
		return nil, &imageDir{b: d.b, node: n}, nil
	}
	switch {
	case write:
		return nil, nil, d.b.readOnly(n.entry.Path)
	case how.Directory:
		return nil, nil, syscall.ENOTDIR
	}
	return &imageFile{b: d.b, node: n, content: d.b.config.Image.contents[n.entry.B3]}, nil, nil
}

// StatAt looks at a path.
func (d *imageDir) StatAt(ctx context.Context, p string, follow bool) (st wasi.Filestat, err error) {
	out, rest, err := d.route(p, grant.Read)
	if err != nil {
		return st, err
	}
	if out != nil {
		return out.StatAt(ctx, rest, follow)
	}
	n, err := d.find(p, follow)
	if err != nil {
		return st, err
	}
	return d.b.config.Image.stat(n), nil
}

// Readlink says where a link leads.
func (d *imageDir) Readlink(ctx context.Context, p string) (string, error) {
	out, rest, err := d.route(p, grant.Read)
	if err != nil {
		return "", err
	}
	if out != nil {
		return out.Readlink(ctx, rest)
	}
	n, err := d.find(p, false)
	switch {
	case err != nil:
		return "", err
	case n.entry.Type != unit.Link:
		return "", syscall.EINVAL
	}
	return n.entry.Target, nil
}

// List hands out entries from a cookie on: "." and "..", then the names by their bytes.
func (d *imageDir) List(_ context.Context, cookie uint64, yield func(wasi.Dirent) bool) error {
	d.b.counts.reads.Add(1)
	const dots = 2
	for i := cookie; i < uint64(len(d.node.names))+dots; i++ {
		n, name := d.node, "."
		switch {
		case i == 1:
			n, name = d.node.parent, ".."
		case i >= dots:
			name = d.node.names[i-dots]
			n = d.node.children[name]
		}
		d.b.counts.readBytes.Add(uint64(len(name)))
		if !yield(wasi.Dirent{Next: i + 1, Ino: n.ino, Type: imageTypes[n.entry.Type], Name: []byte(name)}) {
			return nil
		}
	}
	return nil
}

// Stat looks at the directory itself.
func (d *imageDir) Stat(context.Context) (wasi.Filestat, error) {
	return d.b.config.Image.stat(d.node), nil
}

// Sync has nothing to do.
func (d *imageDir) Sync(context.Context, bool) error { return nil }

// Close has nothing to close: the image is its tree's.
func (d *imageDir) Close() error { return nil }
