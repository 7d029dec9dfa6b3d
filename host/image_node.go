package host

import (
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/joulebox/joulebox/internal/wasi"
	"github.com/joulebox/joulebox/unit"
)

// imageNode is one name in a tree image. Directories that the image doesn't list
// but has files beneath are there as well.
type imageNode struct {
	entry    unit.Entry
	ino      uint64
	parent   *imageNode // the root is its own
	children map[string]*imageNode
	names    []string // of the children, sorted
}

func newImageRoot(entries []unit.Entry) *imageNode {
	root := &imageNode{entry: unit.Entry{Path: "/", Type: unit.Dir}, ino: 1, children: map[string]*imageNode{}}
	root.parent = root
	count := uint64(1)
	for _, e := range entries {
		n := root
		for name := range strings.SplitSeq(strings.Trim(e.Path, "/"), "/") {
			if name == "" {
				continue // the root itself
			}
			n = n.child(name, &count)
		}
		n.entry = e
	}
	root.sort()
	return root
}

// child finds or makes the node of a name.
func (n *imageNode) child(name string, count *uint64) *imageNode {
	c := n.children[name]
	if c == nil {
		*count++
		c = &imageNode{entry: unit.Entry{Path: path.Join(n.entry.Path, name), Type: unit.Dir}, ino: *count, parent: n, children: map[string]*imageNode{}}
		n.children[name] = c
	}
	return c
}

func (n *imageNode) sort() {
	n.names = slices.Sorted(maps.Keys(n.children))
	for _, c := range n.children {
		c.sort()
	}
}

// maxLinks is how many links one path may go through, as in Linux.
const maxLinks = 40

// isRoot reports whether n is the image's own root.
func (n *imageNode) isRoot() bool { return n.parent == n }

// lacks reports whether a path from here leads out of the image: its first name
// isn't one of the root's. Whatever is beneath the image's own names is the image's.
func (n *imageNode) lacks(p string) bool {
	if !n.isRoot() {
		return false
	}
	for name := range strings.SplitSeq(p, "/") {
		if name == "" || name == "." {
			continue
		}
		return name != ".." && n.children[name] == nil
	}
	return false
}

// walk resolves a path from a directory, which it never leaves.
func (n *imageNode) walk(p string, follow bool) (*imageNode, error) {
	at, links := n, 0
	for rest := p; rest != ""; {
		name, more, _ := strings.Cut(rest, "/")
		rest = more
		if at.entry.Type != unit.Dir {
			return nil, syscall.ENOTDIR
		}
		next, err := n.step(at, name)
		if err != nil {
			return nil, err
		}
		if next.entry.Type == unit.Link && (follow || rest != "") {
			if links++; links > maxLinks {
				return nil, syscall.ELOOP
			}
			target := next.entry.Target
			if next, err = n.base(at, target); err != nil {
				return nil, err
			}
			rest = strings.Trim(target+"/"+rest, "/")
		}
		at = next
	}
	if strings.HasSuffix(p, "/") && at.entry.Type != unit.Dir {
		return nil, syscall.ENOTDIR
	}
	return at, nil
}

// base is the directory that a link's target is relative to.
func (n *imageNode) base(at *imageNode, target string) (*imageNode, error) {
	switch {
	case !strings.HasPrefix(target, "/"):
		return at, nil
	case !n.isRoot():
		return nil, errEscapes
	}
	return n, nil
}

// step goes one name on from a directory beneath n.
func (n *imageNode) step(at *imageNode, name string) (*imageNode, error) {
	switch {
	case name == "" || name == ".":
		return at, nil
	case name == ".." && at == n:
		return nil, errEscapes
	case name == "..":
		return at.parent, nil
	}
	if next := at.children[name]; next != nil {
		return next, nil
	}
	return nil, syscall.ENOENT
}

var imageTypes = map[string]wasi.Filetype{
	unit.File: wasi.TypeRegularFile, unit.Dir: wasi.TypeDirectory, unit.Link: wasi.TypeSymbolicLink,
}

// stat is the same on every host (§7.5): an image has no times.
func (t *Tree) stat(n *imageNode) wasi.Filestat {
	s := wasi.Filestat{Dev: 1, Ino: n.ino, Type: imageTypes[n.entry.Type], Nlink: 1}
	switch n.entry.Type {
	case unit.File:
		s.Size = uint64(t.contents[n.entry.B3].Size())
	case unit.Link:
		s.Size = uint64(len(n.entry.Target))
	}
	return s
}
