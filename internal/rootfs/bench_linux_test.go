package rootfs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/joulebox/joulebox/unit"
)

// bulk is a layer of n files with size bytes each on average, half as compressible
// as text.
func bulk(t testing.TB, n, size int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	all := []tarEntry{}
	for i := range n {
		if i%20 == 0 {
			all = append(all, dir(fmt.Sprintf("usr/lib/d%d", i/20)))
		}
		b := make([]byte, r.IntN(2*size))
		for j := range b {
			b[j] = "0123456789abcdefghijklmnopqrstuvwxyz \n"[r.IntN(38)]
			if j%3 == 0 {
				b[j] = 'x'
			}
		}
		all = append(all, file(fmt.Sprintf("usr/lib/d%d/f%d", i/20, i), string(b)))
	}
	return tarOf(t, all...)
}

func benchLayout(b *testing.B, how string, layers ...[]byte) (string, int64) {
	b.Helper()
	var all []v1.Layer
	total := int64(0)
	for _, l := range layers {
		all = append(all, packed(b, l, how))
		total += int64(len(l))
	}
	return "oci:" + writeLayout(b, filepath.Join(b.TempDir(), "layout"), imageOf(b, all...)), total
}

// BenchmarkUnpack is the first run of an image of 100 MB in 4,000 files.
func BenchmarkUnpack(b *testing.B) {
	one := bulk(b, 4000, 25<<10)
	for _, how := range []string{"gzip", "zstd", "tar"} {
		b.Run(how, func(b *testing.B) {
			ref, total := benchLayout(b, how, one)
			b.SetBytes(total)
			for b.Loop() {
				o := options(b)
				r, err := Open(context.Background(), ref, o)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				r.Close()
				_ = removeTree(o.Store)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkWarm is every later run, of 10,000 entries.
func BenchmarkWarm(b *testing.B) {
	ref, _ := benchLayout(b, "tar", bulk(b, 9500, 100))
	o := options(b)
	first := open(b, ref, o)
	for b.Loop() {
		r, err := Open(context.Background(), ref, o)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
	b.ReportMetric(float64(len(first.Image.Entries)), "entries")
}

// BenchmarkAgain looks a tree over after a run.
func BenchmarkAgain(b *testing.B) {
	ref, _ := benchLayout(b, "tar", bulk(b, 9500, 100))
	r := open(b, ref, options(b))
	for b.Loop() {
		if id, err := r.Again(context.Background()); err != nil || id != r.ID {
			b.Fatal(id, err)
		}
	}
}

// BenchmarkDir is a directory that was opened before, of 10,000 entries.
func BenchmarkDir(b *testing.B) {
	ref, _ := benchLayout(b, "tar", bulk(b, 9500, 100))
	o := options(b)
	first := open(b, ref, o)
	second := options(b)
	time.Sleep(settled) // or it would be copied each time
	for b.Loop() {
		r, err := Dir(context.Background(), first.Path, second)
		if err != nil || r.ID != first.ID {
			b.Fatal(r, err)
		}
		r.Close()
	}
}

// BenchmarkRehash reads 100 MB anew.
func BenchmarkRehash(b *testing.B) {
	ref, total := benchLayout(b, "tar", bulk(b, 4000, 25<<10))
	o := options(b)
	open(b, ref, o)
	o.Rehash = true
	b.SetBytes(total)
	for b.Loop() {
		r, err := Open(context.Background(), ref, o)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// BenchmarkParseImage is what a verifier reads of a tree of 10,000 entries.
func BenchmarkParseImage(b *testing.B) {
	ref, _ := benchLayout(b, "tar", bulk(b, 9500, 100))
	r := open(b, ref, options(b))
	src, err := r.Image.Canonical()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := unit.ParseImage(src); err != nil {
			b.Fatal(err)
		}
	}
}
