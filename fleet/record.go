package fleet

import (
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/internal/seal"
)

// Schema marks a fleet's record.
const Schema = "sandbox.fleet/1"

// Record is the aggregate receipt: it commits to every leaf, and to how many.
type Record struct {
	Root  joulebox.ID
	Count uint64 // at least 1, at most 2^53-1
}

type recordWire struct {
	Schema string      `json:"schema"`
	Root   joulebox.ID `json:"root"`
	Count  uint64      `json:"count"`
}

const maxCount = 1<<53 - 1

func (r Record) check() error {
	switch {
	case r.Count == 0:
		return errors.New("fleet: count: got 0, want at least 1: a fleet of nothing commits to nothing")
	case r.Count > maxCount:
		return fmt.Errorf("fleet: count: got %d, want at most %d", r.Count, uint64(maxCount))
	case r.Root.IsZero():
		return errors.New("fleet: root: is zero, want a hash")
	}
	return nil
}

// Canonical is the record's RFC 8785 form, which is signed.
func (r Record) Canonical() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return jcs.Marshal(recordWire{Schema, r.Root, r.Count})
}

// ParseRecord reads a record; its members are closed.
func ParseRecord(src []byte) (Record, error) {
	var w recordWire
	if err := jcs.Unmarshal(src, &w); err != nil {
		return Record{}, fmt.Errorf("fleet: %w", err)
	}
	if w.Schema != Schema {
		return Record{}, fmt.Errorf("fleet: schema: got %q, want %q", w.Schema, Schema)
	}
	r := Record{w.Root, w.Count}
	return r, r.check()
}

// Seal is the detached signature over a record's canonical form (§7.3).
type Seal = seal.Seal

// Signed is a record and the seal of whoever ran the fleet.
type Signed struct {
	Record Record
	Seal   Seal
}

// Sign seals a record.
func Sign(signer crypto.Signer, r Record) (Signed, error) {
	core, err := r.Canonical()
	if err != nil {
		return Signed{}, err
	}
	s, err := seal.Sign(signer, core)
	if err != nil {
		return Signed{}, fmt.Errorf("fleet: %w", err)
	}
	return Signed{r, s}, nil
}

// ParseSigned reads {"core", "seal"}. It checks no signature: see Verify.
func ParseSigned(src []byte) (Signed, error) {
	o, err := seal.ParseObject(src)
	if err != nil {
		return Signed{}, fmt.Errorf("fleet: %w", err)
	}
	r, err := ParseRecord(o.Core)
	return Signed{r, o.Seal}, err
}

// Canonical is the signed record's RFC 8785 form.
func (s Signed) Canonical() ([]byte, error) {
	core, err := s.Record.Canonical()
	if err != nil {
		return nil, err
	}
	return seal.Object{Core: core, Seal: s.Seal}.Canonical()
}

// Verify checks the seal under a key that the caller trusts.
func (s Signed) Verify(pinned ed25519.PublicKey) error {
	return s.verify(func(core []byte) error { return s.Seal.Verify(core, pinned) })
}

// VerifyClaimed checks the seal under the key that it names itself. It shows that
// the record is whole, and nothing about who signed it.
func (s Signed) VerifyClaimed() error { return s.verify(s.Seal.VerifyClaimed) }

func (s Signed) verify(check func([]byte) error) error {
	core, err := s.Record.Canonical()
	if err != nil {
		return err
	}
	if err := check(core); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}
