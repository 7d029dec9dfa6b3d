package rootfs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/joulebox/joulebox/unit"
)

// node is a name in the merged tree: a folder, a file or a link.
type node struct {
	parent   *node // nil for the root
	depth    int   // names on the way here
	length   int   // bytes of the path here
	mode     uint32
	children map[string]*node // of a folder
	file     *content         // of a file
	target   string           // of a link
}

func newDir(mode uint32) *node { return &node{mode: mode, children: map[string]*node{}} }

func (n *node) isDir() bool { return n.children != nil }

// implied is the mode of a folder that a layer needs and doesn't list.
const implied = 0o755

// merge applies layers, lowest first. It touches nothing but memory.
//
// What a layer takes away is taken from the layers below it, whatever the order
// within the layer, so that comes first. Then entries are put in their order: a
// folder on a folder joins it, anything else replaces what had the name.
func merge(layers [][]op, b *budget) (*node, error) {
	t := tree{root: newDir(implied), budget: b}
	for i, ops := range layers {
		if err := t.apply(ops); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
	}
	return t.root, nil
}

// tree is what layers are merged into.
type tree struct {
	root   *node
	budget *budget
}

// add gives a node its place. Names can lead through links, so how deep it lies and
// what its path is isn't known before.
func (t *tree) add(parent *node, name string, n *node) error {
	n.parent, n.depth, n.length = parent, parent.depth+1, parent.length+1+len(name)
	switch {
	case n.depth > t.budget.Depth:
		return &LimitError{"depth", int64(n.depth), int64(t.budget.Depth)}
	case n.length > maxPath:
		return fmt.Errorf("lies at a path of %d bytes, want at most %d", n.length, maxPath)
	}
	parent.children[name] = n
	return nil
}

func (t *tree) apply(ops []op) error {
	dirs := map[string]bool{}
	for _, o := range ops {
		if o.kind == putDir {
			dirs[o.path] = true
		}
	}
	for _, o := range ops {
		if o.kind == hide || o.kind == hideAll {
			if err := t.hide(o, dirs); err != nil {
				return fmt.Errorf("%q: whiteout: %w", o.path, err)
			}
		}
	}
	for _, o := range ops {
		if o.kind == hide || o.kind == hideAll {
			continue
		}
		if err := t.put(o); err != nil {
			return fmt.Errorf("%q: %w", o.path, err)
		}
	}
	return nil
}

// hide takes a name away, or all that a folder holds.
func (t *tree) hide(o op, dirs map[string]bool) error {
	dir, name := o.path, ""
	if o.kind == hide {
		dir, name = split(o.path)
	}
	// A folder that this layer has itself replaces a link of the layers below: what
	// the link leads to isn't meant.
	w := walk{tree: t, own: dirs}
	parent, err := w.dir(dir)
	if err != nil || parent == nil {
		return err
	}
	if o.kind == hideAll {
		clear(parent.children)
		return nil
	}
	delete(parent.children, name)
	return nil
}

func (t *tree) put(o op) error {
	if o.path == "" {
		t.root.mode = o.mode // opOf lets only folders be the root
		return nil
	}
	placed, err := t.placed(o)
	if err != nil {
		return err
	}
	dir, name := split(o.path)
	w := walk{tree: t, make: true}
	parent, err := w.dir(dir)
	if err != nil {
		return err
	}
	old := parent.children[name]
	switch {
	case placed == nil:
		delete(parent.children, name)
	case placed.isDir() && old != nil && old.isDir():
		old.mode = placed.mode
	default:
		return t.add(parent, name, placed)
	}
	return nil
}

// placed is what an op puts; nil for nothing.
func (t *tree) placed(o op) (*node, error) {
	switch o.kind {
	case putDir:
		return newDir(o.mode), nil
	case putFile:
		return &node{mode: o.file.mode, file: o.file}, nil
	case putLink:
		return &node{mode: 0o777, target: o.target}, nil
	case putHard:
		return t.hard(o.target)
	}
	return nil, nil
}

// hard is what another name has. The last name of the target isn't followed.
func (t *tree) hard(target string) (*node, error) {
	dir, name := split(target)
	w := walk{tree: t}
	parent, err := w.dir(dir)
	if err != nil {
		return nil, fmt.Errorf("hard link to %q: %w", target, err)
	}
	var n *node
	if parent != nil {
		n = parent.children[name]
	}
	switch {
	case n == nil:
		return nil, fmt.Errorf("hard link to %q: there is no such file before it", target)
	case n.isDir():
		return nil, fmt.Errorf("hard link to %q: is a folder, want a file or link", target)
	}
	return &node{mode: n.mode, file: n.file, target: n.target}, nil
}

// entries are the tree as an image object has it (§3), and each content's number
// of names.
func (root *node) entries() []unit.Entry {
	var all []unit.Entry
	root.visit("", func(path string, n *node) {
		e := unit.Entry{Path: path, Type: unit.Dir, Mode: n.mode}
		switch {
		case n.file != nil:
			e.Type, e.B3 = unit.File, n.file.b3
			n.file.names++
		case !n.isDir():
			e.Type, e.Target = unit.Link, n.target
		}
		all = append(all, e)
	})
	return all
}

func (n *node) visit(path string, see func(string, *node)) {
	if path == "" {
		see("/", n)
	} else {
		see(path, n)
	}
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		n.children[name].visit(path+"/"+name, see)
	}
}
