// Package merkle is the tree of RFC 6962 over hashes of any kind: an odd node
// moves up unchanged, and no leaf is ever doubled. How leaves and nodes are hashed,
// and so kept apart, is the caller's.
//
// Positions and sizes are part of every proof: a path that is longer or shorter
// than they call for is refused.
package merkle

import (
	"errors"
	"fmt"
	"math/bits"
)

// Hasher is what a tree's owner decides.
type Hasher[H comparable] struct {
	Empty H // of a tree without leaves
	Node  func(left, right H) H
}

// ErrMismatch says that a path leads to another hash than it should.
var ErrMismatch = errors.New("merkle: the path leads to another root")

// Climb is the root of the tree of count leaves that has the leaf at index, by the
// leaf's inclusion path, lowest node first.
func (h Hasher[H]) Climb(index, count uint64, leaf H, path []H) (root H, err error) {
	if index >= count {
		return root, fmt.Errorf("merkle: index: got %d in a tree of %d leaves", index, count)
	}
	inner, border := pathShape(index, count)
	if len(path) != inner+border {
		return root, fmt.Errorf("merkle: path: got %d hashes, want %d for leaf %d of %d", len(path), inner+border, index, count)
	}
	root = leaf
	for i, p := range path {
		if i < inner && index>>i&1 == 0 {
			root = h.Node(root, p)
		} else {
			root = h.Node(p, root)
		}
	}
	return root, nil
}

// pathShape is how many levels a leaf has in common with the last leaf's way up
// (border: all siblings are on the left), and how many it hasn't.
func pathShape(index, count uint64) (inner, border int) {
	inner = bits.Len64(index ^ (count - 1))
	return inner, bits.OnesCount64(index >> inner)
}

// Extends checks that the tree of size2 leaves begins with that of size1: nothing
// was changed, moved or taken away.
func (h Hasher[H]) Extends(size1, size2 uint64, root1, root2 H, path []H) error {
	if size1 == 0 {
		return errors.New("merkle: size1: got 0: every tree begins with the empty one, which says nothing")
	}
	return h.Contains(0, size1, size2, root1, root2, path)
}

// Contains checks that the subtree of the leaves from start up to end, which lies
// at a multiple of its size rounded up to a power of two, is part of a tree.
func (h Hasher[H]) Contains(start, end, count uint64, subtree, root H, path []H) error {
	switch {
	case start > end || end > count:
		return fmt.Errorf("merkle: got leaves %d to %d of a tree of %d", start, end, count)
	case start == end && (len(path) > 0 || subtree != h.Empty):
		return ErrMismatch
	case start == end:
		return nil
	case start&(powerAtLeast(end-start)-1) != 0:
		return fmt.Errorf("merkle: got leaves %d to %d, which are no subtree", start, end)
	}
	w := newWalk(start, end-1, count-1)
	seed := subtree
	if w.first != w.last {
		if len(path) == 0 {
			return errors.New("merkle: path: got no hashes, want some")
		}
		seed, path = path[0], path[1:]
	}
	inner, outer, err := climb(h, w, seed, path)
	if err == nil && (inner != subtree || outer != root) {
		err = ErrMismatch
	}
	return err
}

// walk goes up from a subtree's edges and a tree's last leaf at once.
type walk struct{ first, last, end uint64 } // positions at this level

// newWalk goes up as far as the subtree's right edge is whole.
func newWalk(first, last, end uint64) *walk {
	w := &walk{first, last, end}
	for w.first != w.last && (last == end || w.last&1 == 1) {
		w.up()
	}
	return w
}

func (w *walk) up() { w.first, w.last, w.end = w.first>>1, w.last>>1, w.end>>1 }

// climb works out the subtree's hash and the root from what they have in common.
func climb[H comparable](h Hasher[H], w *walk, seed H, path []H) (inner, outer H, err error) {
	inner, outer = seed, seed
	for _, p := range path {
		switch {
		case w.end == 0:
			return inner, outer, errors.New("merkle: path: got more hashes than there are levels")
		case w.last&1 == 1 || w.last == w.end:
			if w.first < w.last {
				inner = h.Node(p, inner)
			}
			outer = h.Node(p, outer)
			for w.last&1 == 0 {
				w.up()
			}
		default:
			outer = h.Node(outer, p)
		}
		w.up()
	}
	if w.end != 0 {
		return inner, outer, errors.New("merkle: path: got fewer hashes than there are levels")
	}
	return inner, outer, nil
}

func powerAtLeast(n uint64) uint64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(n-1)
}
