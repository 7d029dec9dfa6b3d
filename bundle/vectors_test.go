package bundle_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json/jsontext"
	"path/filepath"
	"slices"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/internal/vectors"
)

// vector is one file of the group: a bundle, and every step that led to it.
type vector struct {
	name   string
	Bundle jsontext.Value `json:"bundle"`
	Steps  struct {
		ResultJCS      string      `json:"result_jcs"`
		ResultID       string      `json:"result_id"`
		ImageJCS       string      `json:"image_jcs"`
		UnitJCS        string      `json:"unit_jcs"`
		UnitID         string      `json:"unit_id"`
		GrantsJCS      string      `json:"grants_jcs"`
		GrantsID       string      `json:"grants_id"`
		ReceiptCore    vectors.Hex `json:"receipt_core_hex"`
		ReceiptID      string      `json:"receipt_id"`
		ReceiptCOSE    vectors.Hex `json:"receipt_cose_hex"`
		AttestationJCS string      `json:"attestation_jcs"`
		AttestationID  string      `json:"attestation_id"`
		EATClaims      vectors.Hex `json:"eat_claims_hex"`
		EAT            vectors.Hex `json:"eat_hex"`
		Seed           vectors.Hex `json:"secret_seed_hex"`
	} `json:"steps"`
}

func (v vector) key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(v.Steps.Seed) }

func (v vector) options() bundle.Options {
	return bundle.Options{Pinned: []bundle.Key{{Name: "vector", Public: v.key().Public().(ed25519.PublicKey)}}}
}

func (v vector) parse(t testing.TB) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Parse(v.Bundle)
	if err != nil {
		t.Fatalf("%s: %v", v.name, err)
	}
	return b
}

// loadVectors loads all six, or skips where they are missing.
func loadVectors(t testing.TB) (all []vector) {
	t.Helper()
	const group = "11-bundle"
	files, err := filepath.Glob(filepath.Join(vectors.Dir(t, group), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, file := range files {
		v := vector{name: filepath.Base(file)}
		vectors.Load(t, group, v.name, &v)
		all = append(all, v)
	}
	vectors.AtLeast(t, "bundles", len(all), 6)
	return all
}

func TestVectorsVerify(t *testing.T) {
	for _, v := range loadVectors(t) {
		want := bundle.Valid
		if v.name == "sovereign-s7.json" {
			want = bundle.Incomplete // genuine form; no hardware made its evidence
		}
		b := v.parse(t)
		got := b.Verify(v.options())
		if got.Verdict != want {
			t.Errorf("%s: got %s, want %s: %+v", v.name, got.Verdict, want, append(got.Failures(), got.Missing()...))
		}
		if r := b.Verify(bundle.Options{}); r.Verdict != bundle.Incomplete || r.Verdict.ExitCode() != 3 {
			t.Errorf("%s: with no key pinned: got %s, want %s", v.name, r.Verdict, bundle.Incomplete)
		}
		for _, c := range got.Checks {
			t.Logf("%s: %-22s %-7s %s", v.name, c.Name, c.Status, c.Detail)
		}
		for _, n := range got.Notes {
			t.Logf("%s: note: %s", v.name, n)
		}
	}
}

// Every intermediate value of the vectors, recomputed from the bundle.
func TestVectorsStepByStep(t *testing.T) {
	judged := 0
	for _, v := range loadVectors(t) {
		b, s := v.parse(t), v.Steps
		text := func(b []byte, err error) string {
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			return string(b)
		}
		image := ""
		if b.Image() != nil {
			image = text(b.Image().Canonical())
			if id := joulebox.Sum([]byte(image)); id != b.Unit().ImageID {
				t.Errorf("%s: image_id: got %s, want %s", v.name, id, b.Unit().ImageID)
			}
		}
		claims := text(b.EAT().Claims())
		for _, step := range []struct{ name, got, want string }{
			{"result_jcs", text(b.Result().Canonical()), s.ResultJCS},
			{"result_id", joulebox.Sum([]byte(s.ResultJCS)).String(), s.ResultID},
			{"image_jcs", image, s.ImageJCS},
			{"unit_jcs", text(b.Unit().Canonical()), s.UnitJCS},
			{"unit_id", b.UnitID().String(), s.UnitID},
			{"grants_jcs", text(b.Grants().Canonical()), s.GrantsJCS},
			{"grants_id", joulebox.Sum([]byte(s.GrantsJCS)).String(), s.GrantsID},
			{"receipt_core", string(b.Receipt().Core()), string(s.ReceiptCore)},
			{"receipt_id", b.Receipt().ID().String(), s.ReceiptID},
			{"receipt_cose", string(b.ReceiptEnvelope()), string(s.ReceiptCOSE)},
			{"attestation_jcs", string(b.Statement().Core()), s.AttestationJCS},
			{"attestation_id", b.Statement().ID().String(), s.AttestationID},
			{"eat_claims", claims, string(s.EATClaims)},
			{"eat", string(b.EATToken()), string(s.EAT)},
		} {
			judged++
			if step.got != step.want {
				t.Errorf("%s: %s:\n got %q\nwant %q", v.name, step.name, step.got, step.want)
			}
		}
	}
	vectors.AtLeast(t, "steps", judged, 6*14)
}

// Taken apart, signed again with the seed and put together, each bundle is the
// vector's own, byte for byte.
func TestVectorsSignedAgain(t *testing.T) {
	for _, v := range loadVectors(t) {
		b := v.parse(t)
		again, err := bundle.Assemble(v.key(), b.Parts())
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		want, err := jcs.Strict(v.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Marshal(), want) || !bytes.Equal(b.Marshal(), want) {
			t.Errorf("%s:\n got %s\nwant %s", v.name, again.Marshal(), want)
		}
		if r, w := again.Verify(v.options()), b.Verify(v.options()); r.Verdict != w.Verdict {
			t.Errorf("%s: assembled: got %s, want %s", v.name, r.Verdict, w.Verdict)
		}
	}
}
