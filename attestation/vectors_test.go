package attestation_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json/jsontext"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/internal/vectors"
)

type vector struct {
	Bundle struct {
		Attestation jsontext.Value   `json:"attestation"`
		Seal        attestation.Seal `json:"seal"`
	} `json:"bundle"`
	Steps struct {
		JCS    string      `json:"attestation_jcs"`
		ID     string      `json:"attestation_id"`
		Claims vectors.Hex `json:"eat_claims_hex"`
		EAT    vectors.Hex `json:"eat_hex"`
		Seed   vectors.Hex `json:"secret_seed_hex"`
	} `json:"steps"`
}

func loadAll(t testing.TB) map[string]vector {
	t.Helper()
	const group = "11-bundle"
	files, err := filepath.Glob(filepath.Join(vectors.Dir(t, group), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]vector{}
	for _, file := range files {
		var v vector
		vectors.Load(t, group, filepath.Base(file), &v)
		all[filepath.Base(file)] = v
	}
	vectors.AtLeast(t, "bundles", len(all), 6)
	return all
}

// Every attestation of the vectors, rebuilt from its members and sealed with its
// seed, is the vector's own bytes, and so is its EAT.
func TestVectorsByteForByte(t *testing.T) {
	for name, v := range loadAll(t) {
		t.Run(name, func(t *testing.T) { rebuild(t, v) })
	}
}

func rebuild(t *testing.T, v vector) {
	key := ed25519.NewKeyFromSeed(v.Steps.Seed)
	pub := key.Public().(ed25519.PublicKey)
	read, err := attestation.Verify(v.Bundle.Attestation, v.Bundle.Seal, pub)
	if err != nil {
		t.Fatal(err)
	}
	made, err := attestation.New(read.Fields())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(made.Core()); got != v.Steps.JCS {
		t.Errorf("core:\n got %s\nwant %s", got, v.Steps.JCS)
	}
	if made.ID().String() != v.Steps.ID || read.ID() != made.ID() {
		t.Errorf("id: got %s and %s, want %s", made.ID(), read.ID(), v.Steps.ID)
	}
	sealed, err := made.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	if sealed != v.Bundle.Seal {
		t.Errorf("seal: got %+v, want %+v", sealed, v.Bundle.Seal)
	}
	rebuildEAT(t, v, made, key)
}

func rebuildEAT(t *testing.T, v vector, s *attestation.Statement, key ed25519.PrivateKey) {
	claims, err := s.EAT().Claims()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(claims, v.Steps.Claims) {
		t.Errorf("claims:\n got %x\nwant %x", claims, []byte(v.Steps.Claims))
	}
	token, err := s.SealEAT(key)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(token, v.Steps.EAT) {
		t.Errorf("token:\n got %x\nwant %x", token, []byte(v.Steps.EAT))
	}
	read, err := attestation.VerifyEAT(v.Steps.EAT, key.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Matches(s); err != nil {
		t.Error(err)
	}
	if read != s.EAT() {
		t.Errorf("claims read: got %+v, want %+v", read, s.EAT())
	}
}
