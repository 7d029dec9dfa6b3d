package host

import (
	"fmt"
	"io"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// Content is the bytes of one file of an image. They don't change as long as
// anyone holds it; it is safe for concurrent use.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Bytes is content in memory.
type Bytes []byte

// Size is how many bytes there are.
func (b Bytes) Size() int64 { return int64(len(b)) }

// ReadAt reads from an offset on.
func (b Bytes) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Tree is a tree image (§3) with the contents of its files: what a unit is
// executed from and finds at its root, read-only. It doesn't change once made,
// and any number of runs may share it.
type Tree struct {
	image    unit.Image
	id       joulebox.ID
	contents map[joulebox.ID]Content
	root     *imageNode
}

// NewTree makes a tree of its image object and of contents by their address. It
// reads each of them once: content that isn't what its entry says is refused.
func NewTree(image unit.Image, contents map[joulebox.ID]Content) (*Tree, error) {
	if image.Kind != unit.Tree {
		return nil, fmt.Errorf("image: kind: got %q, want %q", image.Kind, unit.Tree)
	}
	id, err := image.ID()
	if err != nil {
		return nil, err
	}
	t := &Tree{image: image, id: id, contents: map[joulebox.ID]Content{}, root: newImageRoot(image.Entries)}
	for i, e := range image.Entries {
		if e.Type != unit.File {
			continue
		}
		c := contents[e.B3]
		if c == nil {
			return nil, fmt.Errorf("image: entries[%d]: the content of %q, %s, is missing", i, e.Path, e.B3)
		}
		t.contents[e.B3] = c
	}
	return t, t.Check()
}

// Image is the tree's image object.
func (t *Tree) Image() unit.Image { return t.image }

// ID is the image id.
func (t *Tree) ID() joulebox.ID { return t.id }

// Content is a file's content by its address; nil if the tree has no such file.
func (t *Tree) Content(id joulebox.ID) Content { return t.contents[id] }

// Check addresses all contents and the image object anew. A difference is
// tampering (§7.5).
func (t *Tree) Check() error {
	for want, c := range t.contents {
		got, err := sumContent(c)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("image: got content %s, want %s", got, want)
		}
	}
	id, err := t.image.ID()
	if err == nil && id != t.id {
		err = fmt.Errorf("image: got %s, want %s", id, t.id)
	}
	return err
}

func sumContent(c Content) (id joulebox.ID, err error) {
	h := joulebox.NewHasher()
	n, err := io.Copy(h, io.NewSectionReader(c, 0, c.Size()))
	if err == nil && n != c.Size() {
		err = io.ErrUnexpectedEOF
	}
	return h.ID(), err
}

// Module is the module that an entrypoint names, and its address.
func (t *Tree) Module(entrypoint string) (module []byte, id joulebox.ID, err error) {
	e, ok := t.image.Module(entrypoint)
	if !ok {
		return nil, id, &RefusedError{
			Reason: fmt.Sprintf("the image has no module %q", entrypoint), Hint: "name a file of the image that ends in .wasm", Err: ErrNotFound,
		}
	}
	module, err = wholeContent(t.contents[e.B3])
	if err != nil {
		return nil, id, fmt.Errorf("image: %s: %w", e.Path, err)
	}
	return module, e.B3, nil
}

// Contents are the bytes of all files, in no order.
func (t *Tree) Contents() (all [][]byte, err error) {
	for id, c := range t.contents {
		b, err := wholeContent(c)
		if err != nil {
			return nil, fmt.Errorf("image: %s: %w", id, err)
		}
		all = append(all, b)
	}
	return all, nil
}

func wholeContent(c Content) ([]byte, error) {
	if b, ok := c.(Bytes); ok {
		return b, nil
	}
	b := make([]byte, c.Size())
	if n, err := c.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	return b, nil
}

// program is the module that a job runs, its address, and the export to call:
// in a tree, which names a file where a module names an export, the default one.
func (j Job) program() (module []byte, id joulebox.ID, entry string, err error) {
	if j.Tree == nil {
		return j.Image, j.Unit.ImageID, j.Unit.Entrypoint[0], nil
	}
	module, id, err = j.Tree.Module(j.Unit.Entrypoint[0])
	return module, id, "", err
}
