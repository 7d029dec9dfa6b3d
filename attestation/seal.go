package attestation

import (
	"crypto"
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/seal"
	"github.com/joulebox/joulebox/internal/sig"
)

// Seal is the detached signature over a statement's core (§7.3):
// content_sha256_hex, signature_hex, public_key_hex.
type Seal = seal.Seal

// KeyID is the host id of a public key: the content address of its 32 bytes.
func KeyID(pub ed25519.PublicKey) joulebox.ID { return joulebox.Sum(pub) }

// Sign seals the statement. It refuses a signer whose KeyID isn't the
// statement's host_id: nobody signs in another host's name.
func (s *Statement) Sign(signer crypto.Signer) (Seal, error) {
	if err := s.checkSigner(signer); err != nil {
		return Seal{}, err
	}
	return seal.Sign(signer, s.core)
}

// Verify checks the seal over the core under a key that the caller trusts, and
// that host_id is that key's.
func (s *Statement) Verify(sl Seal, pinned ed25519.PublicKey) error {
	if err := sl.Verify(s.core, pinned); err != nil {
		return fmt.Errorf("attestation: %w", err)
	}
	return s.checkHost(pinned)
}

// Verify reads a core, checks its seal under a key that the caller trusts, and
// returns the statement. Nothing of a core that fails is returned.
func Verify(core []byte, sl Seal, pinned ed25519.PublicKey) (*Statement, error) {
	s, err := Parse(core)
	if err != nil {
		return nil, err
	}
	if err := s.Verify(sl, pinned); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Statement) checkSigner(signer crypto.Signer) error {
	pub, err := sig.Public(signer)
	if err != nil {
		return fmt.Errorf("attestation: %w", err)
	}
	return s.checkHost(pub)
}

func (s *Statement) checkHost(pub ed25519.PublicKey) error {
	if want := KeyID(pub); s.fields.HostID != want {
		return fmt.Errorf("attestation: host_id: got %s, want %s, the id of the signer's key", s.fields.HostID, want)
	}
	return nil
}
