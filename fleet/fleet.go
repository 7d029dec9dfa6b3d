// Package fleet commits to a whole fan-out with one root (§16): a merkle tree over
// the leaves (item, attestation) of its runs, and a record of root and count that
// is signed once. Any one run is proven to be of the fleet by a path of about
// log2(count) hashes, without the others' envelopes (conformance class C10).
//
//	leaf = BLAKE3(0x00 ‖ {"attestation":id,"item":id})     the object in canonical JSON
//	node = BLAKE3(0x01 ‖ left ‖ right)
//
// The tree's shape is RFC 6962's: an odd node moves up unchanged. No leaf is ever
// doubled, so no two fleets share a root, and a node can't be taken for a leaf.
package fleet

import (
	"errors"
	"fmt"

	"github.com/zeebo/blake3"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/merkle"
)

// Leaf is one run of a fleet. Neither id is zero.
type Leaf struct {
	// Item addresses what was to be done: the content of the item.
	Item joulebox.ID `json:"item"`
	// Attestation addresses the statement of the run that did it.
	Attestation joulebox.ID `json:"attestation"`
}

const (
	leafHead   = "\x00" + `{"attestation":"`
	leafMiddle = `","item":"`
	leafTail   = `"}`
	idText     = 46
	leafBytes  = len(leafHead) + idText + len(leafMiddle) + idText + len(leafTail)
	nodePrefix = 0x01
)

// Hash is the leaf's place in the tree. The text is written out by hand: a fleet
// may have a million of these.
func (l Leaf) Hash() joulebox.ID {
	b := make([]byte, 0, leafBytes)
	b = append(b, leafHead...)
	b = appendID(b, l.Attestation)
	b = append(b, leafMiddle...)
	b = appendID(b, l.Item)
	b = append(b, leafTail...)
	return blake3.Sum256(b)
}

// Check refuses a leaf that names nothing.
func (l Leaf) Check() error {
	switch {
	case l.Item.IsZero():
		return errors.New("fleet: item: want the address of what was to be done")
	case l.Attestation.IsZero():
		return errors.New("fleet: attestation: want the address of a run's attestation")
	}
	return nil
}

// hasher has no empty tree: a fleet of nothing commits to nothing (count ≥ 1).
var hasher = merkle.Hasher[joulebox.ID]{Node: node}

func node(left, right joulebox.ID) joulebox.ID {
	var b [1 + 2*len(left)]byte
	b[0] = nodePrefix
	copy(b[1:], left[:])
	copy(b[1+len(left):], right[:])
	return blake3.Sum256(b[:])
}

// Builder makes a fleet's record one leaf at a time, in memory of one hash a level
// of the tree. Make it with NewBuilder.
type Builder struct{ tree *merkle.Range[joulebox.ID] }

// NewBuilder begins a fleet.
func NewBuilder() *Builder { return &Builder{merkle.NewRange(hasher)} }

// Append adds a run.
func (b *Builder) Append(l Leaf) error {
	if err := l.Check(); err != nil {
		return err
	}
	b.tree.Append(l.Hash())
	return nil
}

// Record commits to what was added so far.
func (b *Builder) Record() (Record, error) {
	r := Record{Root: b.tree.Root(), Count: b.tree.Count()}
	return r, r.check()
}

// Tree is a fleet that can prove what is in it. It holds two hashes a leaf: 64 MB
// for a million. Make it with NewTree.
type Tree struct{ tree *merkle.Tree[joulebox.ID] }

// NewTree begins a fleet.
func NewTree() *Tree { return &Tree{merkle.NewTree(hasher)} }

// Append adds a run.
func (t *Tree) Append(l Leaf) error {
	if err := l.Check(); err != nil {
		return err
	}
	t.tree.Append(l.Hash())
	return nil
}

// Count is the number of leaves.
func (t *Tree) Count() uint64 { return t.tree.Count() }

// Record commits to what was added so far.
func (t *Tree) Record() (Record, error) { return t.RecordAt(t.tree.Count()) }

// RecordAt is the record that the fleet had when it had count leaves.
func (t *Tree) RecordAt(count uint64) (Record, error) {
	root, err := t.tree.Root(count)
	if err != nil {
		return Record{}, fmt.Errorf("fleet: %w", err)
	}
	r := Record{Root: root, Count: count}
	return r, r.check()
}

// Prove shows that the leaf at index is of the fleet, under its record at count.
func (t *Tree) Prove(index, count uint64) (Proof, error) {
	path, err := t.tree.Inclusion(index, count)
	if err != nil {
		return Proof{}, fmt.Errorf("fleet: %w", err)
	}
	return Proof{Index: index, Count: count, Path: path}, nil
}

// ProveGrowth shows that the fleet's record at the larger count begins with that
// at the smaller.
func (t *Tree) ProveGrowth(smaller, larger uint64) ([]joulebox.ID, error) {
	path, err := t.tree.Consistency(smaller, larger)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return path, nil
}
