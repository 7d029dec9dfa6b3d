// Package sig signs and verifies with Ed25519 (RFC 8032) under one rule for the
// whole project: crypto/ed25519's check (canonical S, no cofactor) and no public
// key of small order, under which one signature would fit every message.
package sig

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
)

// ErrSignature means that key and signature are well formed and don't fit.
var ErrSignature = errors.New("ed25519: the signature does not verify: the message, the signature or the key was changed")

// Public is the signer's Ed25519 public key. Another kind of key is refused, and
// so is one that Verify would refuse.
func Public(signer crypto.Signer) (ed25519.PublicKey, error) {
	if signer == nil {
		return nil, errors.New("ed25519: no signer")
	}
	pub, ok := signer.Public().(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("ed25519: got a signer with a key of type %T, want ed25519.PublicKey", signer.Public())
	}
	return pub, CheckPublic(pub)
}

// Sign is the 64-byte signature over msg itself (never over a digest of it).
func Sign(signer crypto.Signer, msg []byte) ([]byte, error) {
	if _, err := Public(signer); err != nil {
		return nil, err
	}
	s, err := signer.Sign(rand.Reader, msg, crypto.Hash(0))
	if err != nil {
		return nil, fmt.Errorf("ed25519: sign: %w", err)
	}
	if len(s) != ed25519.SignatureSize {
		return nil, fmt.Errorf("ed25519: the signer gave %d bytes, want %d", len(s), ed25519.SignatureSize)
	}
	return s, nil
}

// Verify checks signature over msg. A signature that doesn't fit is ErrSignature;
// a key or signature that is malformed is another error.
func Verify(pub ed25519.PublicKey, msg, signature []byte) error {
	if err := CheckPublic(pub); err != nil {
		return err
	}
	if len(signature) != ed25519.SignatureSize {
		return fmt.Errorf("ed25519: signature: got %d bytes, want %d", len(signature), ed25519.SignatureSize)
	}
	if !ed25519.Verify(pub, msg, signature) {
		return ErrSignature
	}
	return nil
}
