package jcs

import (
	"fmt"
	"testing"
)

type record struct {
	Hash  string   `json:"hash"`
	N     uint64   `json:"n"`
	OK    bool     `json:"ok"`
	Names []string `json:"names"`
	About string   `json:"about"`
}

// sample is an object of about 2 kB whose members need sorting.
func sample() map[string]record {
	m := map[string]record{}
	for i := range 16 {
		m[fmt.Sprintf("key_%d", i*7919%1000)] = record{fmt.Sprintf("b3:%043d", i), uint64(i) << 40, i%2 == 0, []string{"Cpu", "Simd"}, "abé\"c"}
	}
	return m
}

func BenchmarkMarshal(b *testing.B) {
	v := sample()
	out, err := Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStrict(b *testing.B) {
	in, err := Marshal(sample())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Strict(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	in, err := Marshal(sample())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		var v map[string]record
		if err := Unmarshal(in, &v); err != nil {
			b.Fatal(err)
		}
	}
}
