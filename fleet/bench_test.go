package fleet

import (
	"fmt"
	"testing"

	"github.com/zeebo/blake3"
)

var sizes = []int{1e3, 1e5, 1e6}

func leavesOf(n int) []Leaf {
	list := make([]Leaf, n)
	for i := range list {
		list[i] = leaf(i)
	}
	return list
}

// perLeaf reports what one leaf takes.
func perLeaf(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/leaf")
}

// BenchmarkHashingAlone is the floor: a tree of n leaves is n leaf hashes and n-1
// node hashes, of these lengths, whatever else is done.
func BenchmarkHashingAlone(b *testing.B) {
	var text [leafBytes]byte
	var pair [65]byte
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				for range n {
					sum := blake3.Sum256(text[:])
					copy(pair[1:], sum[:])
					sum = blake3.Sum256(pair[:])
					copy(text[:], sum[:])
				}
			}
			perLeaf(b, n)
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		leaves := leavesOf(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				f := NewBuilder()
				for _, l := range leaves {
					_ = f.Append(l)
				}
				if _, err := f.Record(); err != nil {
					b.Fatal(err)
				}
			}
			perLeaf(b, n)
		})
	}
}

func BenchmarkBuildTree(b *testing.B) {
	for _, n := range sizes {
		leaves := leavesOf(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				f := NewTree()
				for _, l := range leaves {
					_ = f.Append(l)
				}
			}
			perLeaf(b, n)
		})
	}
}

func BenchmarkProve(b *testing.B) {
	for _, n := range sizes {
		f := NewTree()
		for _, l := range leavesOf(n) {
			_ = f.Append(l)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hashes := 0
			for i := uint64(0); b.Loop(); i++ {
				p, err := f.Prove(i*7919%uint64(n), uint64(n))
				if err != nil {
					b.Fatal(err)
				}
				hashes = max(hashes, len(p.Path))
			}
			b.ReportMetric(float64(hashes), "hashes")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, n := range sizes {
		f := NewTree()
		for _, l := range leavesOf(n) {
			_ = f.Append(l)
		}
		r, _ := f.Record()
		p, _ := f.Prove(uint64(n/3), uint64(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if err := p.Verify(leaf(n/3), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
