package supervisor

import (
	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/unit"
)

// imageID is the content address of what is executed (§3).
func (r Request) imageID() joulebox.ID {
	if r.Native != nil {
		return r.Native.ID
	}
	if r.Tree != nil {
		return r.Tree.ID()
	}
	return joulebox.Sum(r.Image)
}

// artifact is what kind of thing runs, read as a verifier will read it.
func (r Request) artifact() grant.Artifact {
	if r.Native != nil {
		return grant.Native
	}
	if r.Tree == nil {
		return grant.WASM
	}
	if len(r.Entrypoint) > 0 {
		if _, ok := r.Tree.Image().Module(r.Entrypoint[0]); ok {
			return grant.WASM
		}
	}
	return grant.Native
}

// imageObject is the image object that the record carries (§3); nil for a module,
// which needs none.
func (p *Plan) imageObject() *unit.Image {
	if p.native != nil {
		return &p.native.Image
	}
	if p.tree == nil {
		return nil
	}
	image := p.tree.Image()
	return &image
}

// imageParts are the bytes that the image id is taken over, and those of every
// file that it names, but for a root filesystem's: those are kept where it is.
func (p *Plan) imageParts() (parts [][]byte, err error) {
	if p.native != nil {
		object, err := p.native.Image.Canonical()
		return [][]byte{object}, err
	}
	if p.tree == nil {
		return [][]byte{p.image}, nil
	}
	object, err := p.tree.Image().Canonical()
	if err != nil {
		return nil, err
	}
	contents, err := p.tree.Contents()
	return append(contents, object), err
}

// imageIntact addresses anew what was run (§7.5).
func (p *Plan) imageIntact() bool {
	if p.native != nil {
		return p.native.Intact() == nil
	}
	if p.tree != nil {
		return p.tree.ID() == p.Unit.ImageID && p.tree.Check() == nil
	}
	return joulebox.Sum(p.image) == p.Unit.ImageID
}

// moduleName is what every module finds as its own name: the same on every host,
// since where a module lies is no part of what runs (§7.5).
const moduleName = "unit"

// programName is the unit's first argument. In a tree it is the program's path,
// which the unit id covers.
func (p *Plan) programName() string {
	if p.tree != nil || p.native != nil {
		return p.Unit.Entrypoint[0]
	}
	return moduleName
}
