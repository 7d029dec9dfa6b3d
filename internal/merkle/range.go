package merkle

// Range is a tree that can be added to, in memory of one hash a level. Make it with
// NewRange.
type Range[H comparable] struct {
	hasher Hasher[H]
	count  uint64
	peaks  []H // whole subtrees, the largest first: one for each bit of count
}

// NewRange is a tree without leaves.
func NewRange[H comparable](h Hasher[H]) *Range[H] { return &Range[H]{hasher: h} }

// Append adds a leaf's hash.
func (r *Range[H]) Append(leaf H) {
	for c := r.count; c&1 == 1; c >>= 1 {
		last := len(r.peaks) - 1
		leaf, r.peaks = r.hasher.Node(r.peaks[last], leaf), r.peaks[:last]
	}
	r.peaks = append(r.peaks, leaf)
	r.count++
}

// Count is the number of leaves.
func (r *Range[H]) Count() uint64 { return r.count }

// Root is the root as it is now.
func (r *Range[H]) Root() H {
	if r.count == 0 {
		return r.hasher.Empty
	}
	i := len(r.peaks) - 1
	root := r.peaks[i]
	for i--; i >= 0; i-- {
		root = r.hasher.Node(r.peaks[i], root)
	}
	return root
}
