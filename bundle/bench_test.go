package bundle_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/cose"
	"github.com/joulebox/joulebox/internal/sig"
)

// bare is what no verifier can do without: three signatures over the three
// messages of one bundle.
func bare(b testing.TB, v vector) func() {
	pub := v.key().Public().(ed25519.PublicKey)
	k := v.key()
	bd := v.parse(b)
	core := bd.Statement().Core()
	s, _ := sig.Sign(k, core)
	receipt, eat := bd.ReceiptEnvelope(), bd.EATToken()
	return func() {
		if _, err := cose.Verify(receipt, pub); err != nil {
			b.Fatal(err)
		}
		if err := sig.Verify(pub, core, s); err != nil {
			b.Fatal(err)
		}
		if _, err := cose.VerifyCWT(eat, pub); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBundle(b *testing.B) {
	v := loadVectors(b)[1]
	bd := v.parse(b)
	o := v.options()
	parts := bd.Parts()
	three := bare(b, v)
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"three-signatures-verified", three},
		{"verify", func() { bd.Verify(o) }},
		{"parse", func() { v.parse(b) }},
		{"parse-and-verify", func() { v.parse(b).Verify(o) }},
		{"three-signatures-made", func() {
			k := v.key()
			for range 3 {
				ed25519.Sign(k, parts.Statement.Core())
			}
		}},
		{"assemble", func() { bundle.Assemble(v.key(), parts) }},
		{"assemble-verify-marshal", func() {
			a, err := bundle.Assemble(v.key(), parts)
			if err != nil {
				b.Fatal(err)
			}
			a.Verify(o)
			a.Marshal()
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.do()
			}
		})
	}
}
