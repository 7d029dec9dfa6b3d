package receipt_test

import (
	"bytes"
	"crypto/ed25519"
	"path/filepath"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/receipt"
)

type steps struct {
	Core vectors.Hex `json:"receipt_core_hex"`
	ID   string      `json:"receipt_id"`
	COSE vectors.Hex `json:"receipt_cose_hex"`
	Seed vectors.Hex `json:"secret_seed_hex"`
}

// Every receipt of the vectors, rebuilt from its members and sealed with its
// seed, is the vector's own bytes.
func TestVectorsByteForByte(t *testing.T) {
	const group = "11-bundle"
	files, err := filepath.Glob(filepath.Join(vectors.Dir(t, group), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, file := range files {
		var v struct {
			Steps steps `json:"steps"`
		}
		vectors.Load(t, group, filepath.Base(file), &v)
		t.Run(filepath.Base(file), func(t *testing.T) { rebuild(t, v.Steps) })
		judged++
	}
	vectors.AtLeast(t, "receipts", judged, 6)
}

func rebuild(t *testing.T, s steps) {
	key := ed25519.NewKeyFromSeed(s.Seed)
	read, err := receipt.Open(s.COSE, key.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	made, err := receipt.New(read.UnitID(), read.Tier(), read.Sequence(), read.Nonce(), read.Devices())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made.Core(), s.Core) {
		t.Errorf("core:\n got %x\nwant %x", made.Core(), []byte(s.Core))
	}
	if made.ID().String() != s.ID || read.ID().String() != s.ID {
		t.Errorf("id: got %s and %s, want %s", made.ID(), read.ID(), s.ID)
	}
	sealed, err := made.Seal(key)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sealed, s.COSE) {
		t.Errorf("envelope:\n got %x\nwant %x", sealed, []byte(s.COSE))
	}
}
