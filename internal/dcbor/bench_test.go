package dcbor

import (
	"testing"

	"github.com/joulebox/joulebox"
)

// receiptLike has the shape and size of a receipt's core.
func receiptLike() core {
	joule := uint64(123_456)
	return core{ID: joulebox.Sum([]byte("x")), Tier: joulebox.S2, Raw: make([]byte, 16), N: 42,
		Parts: []part{{Class: joulebox.CPU, Joule: &joule}, {Class: joulebox.SIMD, Joule: &joule}}}
}

func BenchmarkMarshal(b *testing.B) {
	v := receiptLike()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	in, err := Marshal(receiptLike())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	in, err := Marshal(receiptLike())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var v core
		if err := Unmarshal(in, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	in, err := Marshal(receiptLike())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(in); err != nil {
			b.Fatal(err)
		}
	}
}
