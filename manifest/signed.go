package manifest

import (
	"crypto"
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox/internal/seal"
)

// Seal is the detached signature over a manifest's core (§7.3).
type Seal = seal.Seal

// Signed is a manifest and the seal of whoever vouches for it: the same object
// {"core", "seal"} that a bundle carries.
type Signed struct {
	Manifest *Manifest
	Seal     Seal
}

// Sign seals a manifest.
func Sign(signer crypto.Signer, m *Manifest) (*Signed, error) {
	s, err := seal.Sign(signer, m.core)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return &Signed{m, s}, nil
}

// ParseSigned reads a signed manifest. It checks no signature: see Verify.
func ParseSigned(src []byte) (*Signed, error) {
	if len(src) > 2*maxCore {
		return nil, fmt.Errorf("signed manifest: got %d bytes, want at most %d", len(src), 2*maxCore)
	}
	o, err := seal.ParseObject(src)
	if err != nil {
		return nil, fmt.Errorf("signed manifest: %w", err)
	}
	m, err := Parse(o.Core)
	if err != nil {
		return nil, fmt.Errorf("signed manifest: core: %w", err)
	}
	return &Signed{m, o.Seal}, nil
}

// Canonical is the signed manifest's RFC 8785 form.
func (s *Signed) Canonical() ([]byte, error) {
	return seal.Object{Core: s.Manifest.core, Seal: s.Seal}.Canonical()
}

// Verify checks the seal over the manifest under a key that the caller trusts.
func (s *Signed) Verify(pinned ed25519.PublicKey) error {
	if err := s.Seal.Verify(s.Manifest.core, pinned); err != nil {
		return fmt.Errorf("signed manifest: %w", err)
	}
	return nil
}

// VerifyClaimed checks the seal under the key that it names itself. It shows that
// the manifest is whole, and nothing about who signed it.
func (s *Signed) VerifyClaimed() error {
	if err := s.Seal.VerifyClaimed(s.Manifest.core); err != nil {
		return fmt.Errorf("signed manifest: %w", err)
	}
	return nil
}
