package sevsnp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha512"
	"testing"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
)

// What parses is written as the same bytes.
func FuzzParse(f *testing.F) {
	f.Add(encode(sample()))
	r := sample()
	r.Version, r.CPU, r.LaunchMit, r.CurrentMit = 2, CPU{}, 0, 0
	f.Add(encode(r))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil {
			return
		}
		if again := encode(*r); !bytes.Equal(again, b) {
			t.Errorf("got %x, want %x", again, b)
		}
	})
}

// Nothing that a stranger hands in is accepted, and nothing panics.
func FuzzVerify(f *testing.F) {
	f.Add(encode(sample()), []byte("cert"), []byte("list"))
	f.Fuzz(func(t *testing.T, report, cert, list []byte) {
		c := evidence.Collateral{Certificates: [][]byte{cert}, CRLs: [][]byte{list}}
		if a := (Verifier{}).Verify(report, c, careful()); a.Verdict == bundle.Valid {
			t.Errorf("accepted: %+v", a)
		}
	})
}

// BenchmarkVerify is a whole verification; BenchmarkSignatures the signatures in
// it and nothing else: of the report, of the chip's key, of AMD's signing key.
func BenchmarkVerify(b *testing.B) {
	g := goods(b)[0]
	for b.Loop() {
		if a := (Verifier{}).Verify(g.Report, g.Collateral, g.Policy); a.Verdict != bundle.Valid {
			b.Fatal(a.Err())
		}
	}
}

func BenchmarkSignatures(b *testing.B) {
	g := goods(b)[0]
	leaf, ask, ark := parse(b, g.Collateral.Certificates[0]), parse(b, g.Collateral.Certificates[1]), parse(b, g.Collateral.Certificates[2])
	r, err := Parse(g.Report)
	if err != nil {
		b.Fatal(err)
	}
	signature := append(r.R[:], r.S[:]...)
	for b.Loop() {
		digest := sha512.Sum384(g.Report[:signedSize])
		err := evidence.VerifyRaw(leaf.PublicKey.(*ecdsa.PublicKey), digest[:], signature)
		if err != nil || leaf.CheckSignatureFrom(ask) != nil || ask.CheckSignatureFrom(ark) != nil {
			b.Fatal("a signature doesn't fit")
		}
	}
}
