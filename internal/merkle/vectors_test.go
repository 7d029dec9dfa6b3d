package merkle

import (
	"crypto/sha256"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "09-merkle"

func TestVectorsAreCovered(t *testing.T) {
	vectors.Covered(t, group, "*.json")
}

type proofCase struct {
	LeafIdx, TreeSize, Start, End, Size, Size1, Size2 uint64
	Root, Root1, Root2, LeafHash                      []byte
	Proof                                             [][]byte
	WantErr                                           bool
	Desc, File                                        string
}

func (c proofCase) path() []string {
	path := make([]string, len(c.Proof))
	for i, p := range c.Proof {
		path[i] = string(p)
	}
	return path
}

// climb is an inclusion proof as the files have it.
func (c proofCase) climb(index, count uint64) error {
	if len(c.LeafHash) != sha256.Size {
		return ErrMismatch // no hash at all; one of fixed size can't be so
	}
	root, err := sha.Climb(index, count, string(c.LeafHash), c.path())
	if err == nil && root != string(c.Root) {
		err = ErrMismatch
	}
	return err
}

func TestPublishedVectors(t *testing.T) {
	judged := 0
	for file, check := range map[string]func(c proofCase) error{
		"inclusion.json": func(c proofCase) error { return c.climb(c.LeafIdx, c.TreeSize) },
		"consistency.json": func(c proofCase) error {
			return sha.Extends(c.Size1, c.Size2, string(c.Root1), string(c.Root2), c.path())
		},
		"subtreeinclusion.json": func(c proofCase) error {
			if c.LeafIdx < c.Start || c.Start > c.End || c.Start&(powerAtLeast(c.End-c.Start)-1) != 0 {
				return ErrMismatch
			}
			return c.climb(c.LeafIdx-c.Start, c.End-c.Start)
		},
		"subtreeconsistency.json": func(c proofCase) error {
			return sha.Contains(c.Start, c.End, c.Size, string(c.Root1), string(c.Root2), c.path())
		},
	} {
		var cases []proofCase
		vectors.Load(t, group, file, &cases)
		for _, c := range cases {
			if err := check(c); (err != nil) != c.WantErr {
				t.Errorf("%s (%s): got %v, want an error: %v", c.File, c.Desc, err, c.WantErr)
			}
			judged++
		}
	}
	vectors.AtLeast(t, "published proofs", judged, 308)
}

func TestRoots(t *testing.T) {
	var file struct {
		Leaves []vectors.Hex `json:"leaf_inputs_hex"`
		Roots  []vectors.Hex `json:"root_hashes_by_size"`
	}
	vectors.Load(t, group, "roots.json", &file)
	r := NewRange(sha)
	for n, want := range file.Roots {
		if r.Root() != string(want) {
			t.Errorf("%d leaves: got %x, want %x", n, r.Root(), want)
		}
		if n < len(file.Leaves) {
			r.Append(leafHash(string(file.Leaves[n])))
		}
	}
	vectors.AtLeast(t, "roots", len(file.Roots), 9)
}

func TestComputedTrees(t *testing.T) {
	var trees []struct {
		N      uint64
		Leaves []vectors.Hex `json:"leaves_hex"`
		Root   vectors.Hex   `json:"root_hex"`
		Proofs []struct {
			Index uint64
			Path  []vectors.Hex `json:"path_hex"`
		}
	}
	vectors.Load(t, group, "computed-trees.json", &trees)
	judged := 0
	for _, c := range trees {
		tree := NewTree(sha)
		for _, l := range c.Leaves {
			tree.Append(leafHash(string(l)))
		}
		if root, err := tree.Root(c.N); err != nil || root != string(c.Root) || tree.Count() != c.N {
			t.Errorf("%d leaves: got %x, %v, want %x", c.N, root, err, c.Root)
		}
		for _, p := range c.Proofs {
			path, err := tree.Inclusion(p.Index, c.N)
			if err != nil || len(path) != len(p.Path) {
				t.Fatalf("leaf %d of %d: got %d hashes, %v", p.Index, c.N, len(path), err)
			}
			for i := range path {
				if path[i] != string(p.Path[i]) {
					t.Errorf("leaf %d of %d: hash %d differs", p.Index, c.N, i)
				}
			}
			judged++
		}
	}
	vectors.AtLeast(t, "computed paths", judged, 12)
}

// TestNodesInOrder: the whole nodes of the tree of eight leaves, level by level,
// and how leaves and nodes are hashed.
func TestNodesInOrder(t *testing.T) {
	var file struct {
		Leaves []vectors.Hex `json:"leaf_inputs_hex"`
		Nodes  []vectors.Hex `json:"node_hashes_in_order"`
		Hasher []struct {
			Empty vectors.Hex  `json:"empty_root"`
			Hex   *vectors.Hex `json:"leaf_hex"`
			ASCII *string      `json:"leaf_ascii"`
			Leaf  vectors.Hex  `json:"leaf_hash"`
			Left  string       `json:"node_left_ascii"`
			Right string       `json:"node_right_ascii"`
			Node  vectors.Hex  `json:"node_hash"`
		}
	}
	vectors.Load(t, group, "roots.json", &file)
	tree := NewTree(sha)
	for _, l := range file.Leaves {
		tree.Append(leafHash(string(l)))
	}
	var got []string
	for _, level := range tree.levels {
		got = append(got, level...)
	}
	for i, want := range file.Nodes {
		if i >= len(got) || got[i] != string(want) {
			t.Fatalf("node %d of %d: want %x", i, len(got), want)
		}
	}
	vectors.AtLeast(t, "nodes", len(file.Nodes), 15)
	judged := 0
	for _, c := range file.Hasher {
		switch {
		case c.Hex != nil && leafHash(string(*c.Hex)) == string(c.Leaf),
			c.ASCII != nil && leafHash(*c.ASCII) == string(c.Leaf),
			c.Left != "" && sha.Node(c.Left, c.Right) == string(c.Node),
			len(c.Empty) > 0 && sha.Empty == string(c.Empty):
			judged++
		default:
			t.Errorf("%+v: another hash", c)
		}
	}
	vectors.AtLeast(t, "hashes", judged, 4)
}
