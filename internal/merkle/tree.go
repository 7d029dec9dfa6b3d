package merkle

import (
	"fmt"
	"math/bits"
)

// Tree is a tree that can be added to and proves what is in it, now or at any
// earlier size. It holds about two hashes a leaf. Make it with NewTree.
type Tree[H comparable] struct {
	hasher Hasher[H]
	levels [][]H // whole nodes, the leaves first
}

// NewTree is a tree without leaves.
func NewTree[H comparable](h Hasher[H]) *Tree[H] { return &Tree[H]{hasher: h, levels: [][]H{nil}} }

// Append adds a leaf's hash.
func (t *Tree[H]) Append(leaf H) {
	t.levels[0] = append(t.levels[0], leaf)
	for l := 0; len(t.levels[l])&1 == 0; l++ {
		if l+1 == len(t.levels) {
			t.levels = append(t.levels, nil)
		}
		n := len(t.levels[l])
		t.levels[l+1] = append(t.levels[l+1], t.hasher.Node(t.levels[l][n-2], t.levels[l][n-1]))
	}
}

// Count is the number of leaves.
func (t *Tree[H]) Count() uint64 { return uint64(len(t.levels[0])) }

// Leaf is the hash of the leaf at index.
func (t *Tree[H]) Leaf(index uint64) H { return t.levels[0][index] }

// Root is the root over the first count leaves.
func (t *Tree[H]) Root(count uint64) (root H, err error) {
	if err := t.has(count); err != nil {
		return root, err
	}
	if count == 0 {
		return t.hasher.Empty, nil
	}
	return t.over(0, count), nil
}

func (t *Tree[H]) has(count uint64) error {
	if count > t.Count() {
		return fmt.Errorf("merkle: count: got %d of a tree of %d leaves", count, t.Count())
	}
	return nil
}

// over is the hash of the leaves from lo up to hi, where lo is a multiple of the
// power of two that hi-lo fills or begins.
func (t *Tree[H]) over(lo, hi uint64) H {
	n := hi - lo
	if n&(n-1) == 0 {
		level := bits.TrailingZeros64(n)
		return t.levels[level][lo>>level]
	}
	k := split(n)
	return t.hasher.Node(t.over(lo, lo+k), t.over(lo+k, hi))
}

// split is the largest power of two below n, for n above 1.
func split(n uint64) uint64 { return 1 << (bits.Len64(n-1) - 1) }

// Inclusion is the path of the leaf at index in the tree of the first count leaves,
// lowest node first.
func (t *Tree[H]) Inclusion(index, count uint64) ([]H, error) {
	if err := t.has(count); err != nil {
		return nil, err
	}
	if index >= count {
		return nil, fmt.Errorf("merkle: index: got %d in a tree of %d leaves", index, count)
	}
	inner, border := pathShape(index, count)
	path := make([]H, inner+border)
	lo, hi := uint64(0), count
	for at := len(path) - 1; at >= 0; at-- {
		if k := split(hi - lo); index < lo+k {
			path[at] = t.over(lo+k, hi)
			hi = lo + k
		} else {
			path[at] = t.over(lo, lo+k)
			lo += k
		}
	}
	return path, nil
}

// Consistency is the path that shows that the tree of size2 leaves begins with that
// of size1.
func (t *Tree[H]) Consistency(size1, size2 uint64) ([]H, error) {
	if size1 == 0 || size1 > size2 {
		return nil, fmt.Errorf("merkle: got sizes %d and %d, want the smaller first, and not 0", size1, size2)
	}
	return t.Subtree(0, size1, size2)
}

// Subtree is the path that Contains checks.
func (t *Tree[H]) Subtree(start, end, count uint64) ([]H, error) {
	if err := t.has(count); err != nil {
		return nil, err
	}
	if start >= end || end > count || start&(powerAtLeast(end-start)-1) != 0 {
		return nil, fmt.Errorf("merkle: leaves %d to %d of %d are no subtree", start, end, count)
	}
	return t.subtree(start, end, 0, count, true), nil
}

// subtree is the proof within the leaves from lo up to hi; known says that who
// checks has the hash of just these.
func (t *Tree[H]) subtree(start, end, lo, hi uint64, known bool) []H {
	if start == lo && end == hi {
		if known {
			return nil
		}
		return []H{t.over(lo, hi)}
	}
	k := lo + split(hi-lo)
	switch {
	case end <= k:
		return append(t.subtree(start, end, lo, k, known), t.over(k, hi))
	case start >= k:
		return append(t.subtree(start, end, k, hi, known), t.over(lo, k))
	}
	return append(t.subtree(k, end, k, hi, false), t.over(lo, k))
}
