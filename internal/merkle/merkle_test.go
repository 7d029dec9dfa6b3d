package merkle

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sha is RFC 6962's own hashing; a string holds a hash of any length, which the
// published vectors have.
var sha = Hasher[string]{Empty: digest(""), Node: func(l, r string) string { return digest("\x01" + l + r) }}

func digest(s string) string {
	d := sha256.Sum256([]byte(s))
	return string(d[:])
}

func leafHash(data string) string { return digest("\x00" + data) }

func leaves(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = leafHash(fmt.Sprint(i))
	}
	return list
}

// naive is the definition, word by word: D[n] splits at the largest power of two
// smaller than n.
func naive(list []string) string {
	switch len(list) {
	case 0:
		return sha.Empty
	case 1:
		return list[0]
	}
	k := 1
	for k*2 < len(list) {
		k *= 2
	}
	return sha.Node(naive(list[:k]), naive(list[k:]))
}

func naivePath(index int, list []string) []string {
	if len(list) == 1 {
		return nil
	}
	k := 1
	for k*2 < len(list) {
		k *= 2
	}
	if index < k {
		return append(naivePath(index, list[:k]), naive(list[k:]))
	}
	return append(naivePath(index-k, list[k:]), naive(list[:k]))
}

// TestAgainstTheDefinition: each size up to 130, each leaf of it.
func TestAgainstTheDefinition(t *testing.T) {
	all := leaves(130)
	tree, compact := NewTree(sha), NewRange(sha)
	for n := 0; n <= len(all); n++ {
		want := naive(all[:n])
		if root, err := tree.Root(uint64(n)); err != nil || root != want || compact.Root() != want || compact.Count() != uint64(n) || tree.Count() != uint64(n) {
			t.Fatalf("%d leaves: got %x and %x, %v, want %x", n, root, compact.Root(), err, want)
		}
		for i := range n {
			path, err := tree.Inclusion(uint64(i), uint64(n))
			if err != nil || !slices.Equal(path, naivePath(i, all[:n])) {
				t.Fatalf("leaf %d of %d: got %d hashes, %v", i, n, len(path), err)
			}
			if root, err := sha.Climb(uint64(i), uint64(n), all[i], path); err != nil || root != want {
				t.Fatalf("leaf %d of %d: %v", i, n, err)
			}
		}
		if n < len(all) {
			tree.Append(all[n])
			compact.Append(all[n])
		}
	}
}

// TestEarlierSizes: a tree that has grown proves what it was.
func TestEarlierSizes(t *testing.T) {
	all := leaves(70)
	tree := NewTree(sha)
	for _, l := range all {
		tree.Append(l)
	}
	for n := 1; n <= len(all); n++ {
		for m := 1; m <= n; m++ {
			path, err := tree.Consistency(uint64(m), uint64(n))
			if err != nil {
				t.Fatal(err)
			}
			if err := sha.Extends(uint64(m), uint64(n), naive(all[:m]), naive(all[:n]), path); err != nil {
				t.Fatalf("%d to %d: %v", m, n, err)
			}
			if m < n && sha.Extends(uint64(m), uint64(n), naive(all[1:m+1]), naive(all[:n]), path) == nil {
				t.Fatalf("%d to %d: another tree passes", m, n)
			}
		}
	}
}

func TestSubtrees(t *testing.T) {
	all := leaves(40)
	tree := NewTree(sha)
	for _, l := range all {
		tree.Append(l)
	}
	tried := 0
	for n := uint64(1); n <= 40; n++ {
		for start := uint64(0); start < n; start++ {
			for end := start + 1; end <= n; end++ {
				path, err := tree.Subtree(start, end, n)
				valid := start%powerAtLeast(end-start) == 0
				if (err == nil) != valid {
					t.Fatalf("%d to %d of %d: %v", start, end, n, err)
				}
				root := naive(all[:n])
				if valid {
					tried++
					if err := sha.Contains(start, end, n, naive(all[start:end]), root, path); err != nil {
						t.Fatalf("%d to %d of %d: %v", start, end, n, err)
					}
				} else if sha.Contains(start, end, n, naive(all[start:end]), root, path) == nil {
					t.Fatalf("%d to %d of %d is no subtree and passes", start, end, n)
				}
			}
		}
	}
	if tried < 1000 {
		t.Fatalf("only %d subtrees tried", tried)
	}
}

// TestForgedProofs: whatever is changed about a proof, it no longer verifies.
func TestForgedProofs(t *testing.T) {
	all := leaves(200)
	tree := NewTree(sha)
	for _, l := range all {
		tree.Append(l)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 200).Draw(t, "n")
		i := rapid.Uint64Range(0, n-1).Draw(t, "i")
		path, _ := tree.Inclusion(i, n)
		root := naive(all[:n])
		index, count, leaf, forged := i, n, all[i], slices.Clone(path)
		switch rapid.IntRange(0, 6).Draw(t, "how") {
		case 0:
			leaf = leafHash("another")
		case 1:
			index = rapid.Uint64Range(0, 300).Draw(t, "index")
		case 2:
			count = rapid.Uint64Range(0, 300).Draw(t, "count")
		case 3:
			forged = append(forged, root)
		case 4:
			forged = forged[:max(len(forged)-1, 0)]
		case 5:
			if len(forged) > 0 {
				forged[rapid.IntRange(0, len(forged)-1).Draw(t, "at")] = leafHash("x")
			}
		case 6:
			slices.Reverse(forged)
		}
		same := index == i && count == n && leaf == all[i] && slices.Equal(forged, path)
		got, err := sha.Climb(index, count, leaf, forged)
		// Another size can give the same way up to the same root only if the position is
		// the same within it: then the path is as long and turns alike.
		if passes := err == nil && got == root; passes && !same && (leaf != all[i] || !slices.Equal(forged, path)) {
			t.Fatalf("leaf %d of %d passes as %d of %d", i, n, index, count)
		}
	})
}

// TestNodeIsNoLeaf: an inner node can't be passed off as a leaf of a smaller tree,
// nor a leaf be doubled to make a larger one.
func TestNodeIsNoLeaf(t *testing.T) {
	all := leaves(4)
	root := naive(all)
	inner := sha.Node(all[0], all[1])
	if got, err := sha.Climb(0, 4, inner, []string{sha.Node(all[2], all[3])}); err == nil {
		t.Errorf("a node passes for a leaf: %x", got)
	}
	if naive(all[:3]) == naive([]string{all[0], all[1], all[2], all[2]}) {
		t.Error("a doubled leaf gives the same root")
	}
	if got, err := sha.Climb(1, 1, root, nil); err == nil {
		t.Errorf("an index beyond the tree passes: %x", got)
	}
}

func TestRefusedSizes(t *testing.T) {
	tree := NewTree(sha)
	tree.Append(leafHash("a"))
	if _, err := tree.Root(2); err == nil {
		t.Error("a root over leaves that aren't there")
	}
	if _, err := tree.Inclusion(0, 2); err == nil {
		t.Error("a path in a tree that isn't there")
	}
	if _, err := tree.Inclusion(1, 1); err == nil {
		t.Error("a path of a leaf that isn't there")
	}
	for _, s := range [][2]uint64{{0, 1}, {2, 1}, {1, 2}} {
		if _, err := tree.Consistency(s[0], s[1]); err == nil {
			t.Errorf("sizes %v are consistent", s)
		}
	}
}
