package unit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// ImageSchema marks an image object. A WASM module needs none: its image id is
// the content address of its bytes.
const ImageSchema = "sandbox.image/1"

// The kinds of image objects and of tree entries.
const (
	Tree = "tree" // a root filesystem, pinned entry by entry
	Host = "host" // the host's own filesystem: only the program is pinned

	File = "file"
	Dir  = "dir"
	Link = "link"
)

// Image is an image object: what the image id of a native unit is taken over.
type Image struct {
	// Kind is Tree or Host.
	Kind string
	// Entries of a tree, sorted by the bytes of their paths.
	Entries []Entry
	// Kernel and Agent are added where the unit boots its own kernel (S5).
	Kernel, Agent joulebox.ID
	// Program is what a host image executes.
	Program Program
}

// Entry is one name in a tree.
type Entry struct {
	// Path is absolute and canonical, UTF-8.
	Path string `json:"path"`
	// Type is File, Dir or Link.
	Type string `json:"type"`
	// Mode is the permission bits with setuid, setgid and sticky: 0 to 07777.
	Mode uint32 `json:"mode"`
	// B3 is a file's content address.
	B3 joulebox.ID `json:"b3,omitzero"`
	// Target is a link's text, as it is stored.
	Target string `json:"target,omitzero"`
}

// Program is the executable of a host image.
type Program struct {
	Path string      `json:"path"`
	B3   joulebox.ID `json:"b3"`
}

type treeWire struct {
	Schema  string      `json:"schema"`
	Kind    string      `json:"kind"`
	Entries []Entry     `json:"entries"`
	Kernel  joulebox.ID `json:"kernel,omitzero"`
	Agent   joulebox.ID `json:"agent,omitzero"`
}

type hostWire struct {
	Schema  string  `json:"schema"`
	Kind    string  `json:"kind"`
	Program Program `json:"program"`
}

// NewTree sorts the entries; the result is valid or an error says why not.
func NewTree(entries []Entry) (Image, error) {
	im := Image{Kind: Tree, Entries: slices.Clone(entries)}
	slices.SortFunc(im.Entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return im, im.Validate()
}

// Pinned reports whether the image id covers every file that can be read as the
// image. A host image's doesn't: other files of the host are not covered.
func (im Image) Pinned() bool { return im.Kind == Tree }

// Canonical is the JCS form (§4) that the image id is taken over.
func (im Image) Canonical() ([]byte, error) {
	if err := im.Validate(); err != nil {
		return nil, err
	}
	if im.Kind == Host {
		return jcs.Marshal(hostWire{ImageSchema, Host, im.Program})
	}
	return jcs.Marshal(treeWire{ImageSchema, Tree, im.Entries, im.Kernel, im.Agent})
}

// ID is the image id (§3).
func (im Image) ID() (joulebox.ID, error) {
	b, err := im.Canonical()
	if err != nil {
		return joulebox.ID{}, err
	}
	return joulebox.Sum(b), nil
}

// ParseImage reads an image object; its members are closed, and what it accepts
// re-encodes to the same canonical bytes.
func ParseImage(src []byte) (Image, error) {
	im, err := parseImage(src)
	if err != nil {
		return Image{}, fmt.Errorf("image: %w", err)
	}
	return im, im.Validate()
}

func parseImage(src []byte) (Image, error) {
	kind, err := imageKind(src)
	if err != nil {
		return Image{}, err
	}
	if kind == Host {
		var w hostWire
		err := jcs.Unmarshal(src, &w)
		return Image{Kind: Host, Program: w.Program}, err
	}
	var w treeWire
	err = jcs.Unmarshal(src, &w)
	return Image{Kind: Tree, Entries: w.Entries, Kernel: w.Kernel, Agent: w.Agent}, err
}

// Validate reports the first thing that is wrong, by its member.
func (im Image) Validate() error {
	switch im.Kind {
	case Host:
		return im.validateHost()
	case Tree:
		return im.validateTree()
	}
	return fmt.Errorf("image: kind: got %q, want %q or %q", im.Kind, Tree, Host)
}

func (im Image) validateHost() error {
	switch {
	case len(im.Entries) > 0 || !im.Kernel.IsZero() || !im.Agent.IsZero():
		return fmt.Errorf("image: a host image has a program and nothing else")
	case im.Program.B3.IsZero():
		return fmt.Errorf("image: program.b3: missing; want the content address of the executable")
	}
	if err := checkPath(im.Program.Path); err != nil {
		return fmt.Errorf("image: program.path: %w", err)
	}
	return nil
}

func (im Image) validateTree() error {
	switch {
	case im.Program != Program{}:
		return fmt.Errorf("image: a tree has entries and no program")
	case len(im.Entries) == 0:
		return fmt.Errorf("image: entries: empty; nothing could run")
	case im.Kernel.IsZero() && !im.Agent.IsZero():
		return fmt.Errorf("image: agent without kernel; want both")
	}
	for i, e := range im.Entries {
		if err := e.validate(); err != nil {
			return fmt.Errorf("image: entries[%d]: %w", i, err)
		}
		if i > 0 && e.Path <= im.Entries[i-1].Path {
			return fmt.Errorf("image: entries[%d]: %q after %q, want each path once, sorted by its bytes", i, e.Path, im.Entries[i-1].Path)
		}
	}
	return im.checkParents()
}

func (im Image) checkParents() error {
	types := make(map[string]string, len(im.Entries))
	for i, e := range im.Entries {
		types[e.Path] = e.Type
		parent := e.Path[:strings.LastIndexByte(e.Path, '/')]
		for parent != "" {
			if t, listed := types[parent]; listed && t != Dir {
				return fmt.Errorf("image: entries[%d]: %q is beneath %q, which is a %s", i, e.Path, parent, t)
			}
			parent = parent[:strings.LastIndexByte(parent, '/')]
		}
	}
	return nil
}

const maxMode = 0o7777

func (e Entry) validate() error {
	if err := checkPath(e.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if e.Path == "/" && e.Type != Dir {
		return fmt.Errorf("type: got %q for the root, want %q", e.Type, Dir)
	}
	hasB3, hasTarget := !e.B3.IsZero(), e.Target != ""
	switch {
	case e.Mode > maxMode:
		return fmt.Errorf("mode: got %#o, want at most %#o; the type isn't part of it", e.Mode, maxMode)
	case e.Type == File && hasB3 && !hasTarget, e.Type == Dir && !hasB3 && !hasTarget:
		return nil
	case e.Type == Link && !hasB3 && hasTarget:
		if badArgument(e.Target) {
			return fmt.Errorf("target: got %q, want UTF-8 without NUL bytes", e.Target)
		}
		return nil
	case e.Type == File || e.Type == Dir || e.Type == Link:
		return fmt.Errorf("%q: a file has b3, a link has target, a dir has neither", e.Path)
	}
	return fmt.Errorf("type: got %q, want %q, %q or %q", e.Type, File, Dir, Link)
}

// checkPath wants the canonical form; "/" is a tree's own root.
func checkPath(p string) error {
	if p == "/" {
		return nil
	}
	if badArgument(p) || p == "" || p[0] != '/' {
		return fmt.Errorf("got %q, want an absolute path in UTF-8", p)
	}
	for seg := range strings.SplitSeq(p[1:], "/") {
		if seg == "" || seg == "." || seg == ".." {
			return fmt.Errorf("got %q, want the canonical form, without \".\", \"..\" and empty segments", p)
		}
	}
	return nil
}
