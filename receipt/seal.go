package receipt

import (
	"crypto"
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox/internal/cose"
)

// Seal signs the receipt (§6.4): a COSE_Sign1 envelope with tag 18, EdDSA, over
// the core. The signer's public key must be an ed25519.PublicKey.
func (r *Receipt) Seal(signer crypto.Signer) ([]byte, error) {
	envelope, err := cose.Sign(signer, r.core)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return envelope, nil
}

// Open checks an envelope, tagged or not, under a key that the caller trusts,
// and reads the receipt within.
func Open(envelope []byte, pub ed25519.PublicKey) (*Receipt, error) {
	core, err := cose.Verify(envelope, pub)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return ParseCore(core)
}

// Parse reads the receipt within an envelope WITHOUT checking the signature:
// what it returns is a claim that anybody could have made.
func Parse(envelope []byte) (*Receipt, error) {
	core, err := cose.Payload(envelope)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return ParseCore(core)
}
