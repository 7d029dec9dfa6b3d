package sig

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "04-cose-eat-sig"

// The edge cases carry flags, and beside them stands what crypto/ed25519 says. Ours
// is the same verdict but for keys of small order, which are refused.
func TestVectorsEdgeCases(t *testing.T) {
	var cases []struct {
		Number   int
		Key, Sig vectors.Hex
		Msg      string
		Flags    []string
	}
	verdicts := map[string]bool{}
	vectors.Load(t, group, "ed25519/cctv-edge-cases.json", &cases)
	vectors.Load(t, group, "ed25519/cctv-go-verdicts.json", &verdicts)
	small, accepted := 0, 0
	for _, c := range cases {
		library, known := verdicts[strconv.Itoa(c.Number)]
		if !known {
			t.Errorf("case %d has no verdict", c.Number)
		}
		weak := slices.Contains(c.Flags, "low_order_A")
		if keyErr := CheckPublic(ed25519.PublicKey(c.Key)); (keyErr != nil) != (weak || slices.Contains(c.Flags, "non_canonical_A")) {
			t.Errorf("case %d: key %x: got %v, flags %v", c.Number, c.Key, keyErr, c.Flags)
		}
		err := Verify(ed25519.PublicKey(c.Key), []byte(c.Msg), c.Sig)
		if want := library && !weak; (err == nil) != want {
			t.Errorf("case %d: got %v, want accepted: %v, flags %v", c.Number, err, want, c.Flags)
		}
		if err == nil {
			accepted++
		}
		if weak && library {
			small++
		}
	}
	vectors.AtLeast(t, "edge cases", len(cases), 200)
	vectors.AtLeast(t, "keys of small order that the library accepts", small, 20)
	vectors.AtLeast(t, "accepted edge cases", accepted, 10)
}

// Signing is deterministic, so the published signatures are ours.
func TestVectorsSignInput(t *testing.T) {
	var cases []struct{ Seed, PK, Msg, Sig vectors.Hex }
	vectors.Load(t, group, "ed25519/sign-input.json", &cases)
	for i, c := range cases {
		key := ed25519.NewKeyFromSeed(c.Seed)
		if pub, err := Public(key); err != nil || !bytes.Equal(pub, c.PK) {
			t.Errorf("case %d: key: got %x, %v, want %x", i, pub, err, c.PK)
		}
		if got, err := Sign(key, c.Msg); err != nil || !bytes.Equal(got, c.Sig) {
			t.Errorf("case %d: signature: got %x, %v, want %x", i, got, err, c.Sig)
		}
		if err := Verify(ed25519.PublicKey(c.PK), c.Msg, c.Sig); err != nil {
			t.Errorf("case %d: %v", i, err)
		}
		if err := Verify(ed25519.PublicKey(c.PK), append(c.Msg, 0), c.Sig); !errors.Is(err, ErrSignature) {
			t.Errorf("case %d: a longer message: got %v, want ErrSignature", i, err)
		}
	}
	vectors.AtLeast(t, "signatures", len(cases), 30)
}

func TestVectorsWycheproof(t *testing.T) {
	var file struct {
		TestGroups []struct {
			PublicKey struct{ PK vectors.Hex }
			Tests     []struct {
				TcID     int
				Msg, Sig vectors.Hex
				Result   string
			}
		}
	}
	vectors.Load(t, group, "wycheproof/ed25519_test.json", &file)
	count := map[string]int{}
	for _, g := range file.TestGroups {
		for _, c := range g.Tests {
			err := Verify(ed25519.PublicKey(g.PublicKey.PK), c.Msg, c.Sig)
			if (err == nil) != (c.Result == "valid") {
				t.Errorf("test %d: got %v, want it %s", c.TcID, err, c.Result)
			}
			count[c.Result]++
		}
	}
	vectors.AtLeast(t, "valid signatures", count["valid"], 30)
	vectors.AtLeast(t, "invalid signatures", count["invalid"], 20)
}
