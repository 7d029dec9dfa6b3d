// Package seal is the detached signature of every signed JSON object: Ed25519
// over the canonical bytes of a core, with the core's SHA-256 and the signer's
// key beside it (§7.3). The key within a seal says who claims to have signed;
// trust is only ever in a key that the reader already holds.
package seal

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/joulebox/joulebox/internal/sig"
)

// Seal is the wire form. Hex is lower-case and of exact length.
type Seal struct {
	ContentSHA256Hex string `json:"content_sha256_hex"` // 64 digits: SHA-256 of the core
	SignatureHex     string `json:"signature_hex"`      // 128 digits: Ed25519 over the core
	PublicKeyHex     string `json:"public_key_hex"`     // 64 digits: the signer's key
}

// Sign seals canonical bytes. The signer's public key must be an
// ed25519.PublicKey.
func Sign(signer crypto.Signer, core []byte) (Seal, error) {
	pub, err := sig.Public(signer)
	if err != nil {
		return Seal{}, fmt.Errorf("seal: %w", err)
	}
	signature, err := sig.Sign(signer, core)
	if err != nil {
		return Seal{}, fmt.Errorf("seal: %w", err)
	}
	sum := sha256.Sum256(core)
	return Seal{hex.EncodeToString(sum[:]), hex.EncodeToString(signature), hex.EncodeToString(pub)}, nil
}

// Verify checks the seal over canonical bytes under a key that the caller
// trusts: the content hash, that the seal names that key, and the signature.
func (s Seal) Verify(core []byte, pub ed25519.PublicKey) error {
	claimed, err := s.PublicKey()
	if err != nil {
		return err
	}
	if !claimed.Equal(pub) {
		return fmt.Errorf("seal: public_key_hex: got %s, want %x: another key signed this", s.PublicKeyHex, []byte(pub))
	}
	return s.VerifyClaimed(core)
}

// VerifyClaimed checks the seal under the key that it names itself. It shows
// that the core is whole, and nothing about who signed it.
func (s Seal) VerifyClaimed(core []byte) error {
	want, signature, pub, err := s.decode()
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(core); sum != want {
		return fmt.Errorf("seal: content_sha256_hex: got %s, want %x, the SHA-256 of the core", s.ContentSHA256Hex, sum)
	}
	if err := sig.Verify(pub[:], core, signature[:]); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	return nil
}

// Check reports whether the three members are lower-case hex of exact length.
func (s Seal) Check() error {
	_, _, _, err := s.decode()
	return err
}

// PublicKey is the key that the seal names.
func (s Seal) PublicKey() (ed25519.PublicKey, error) {
	var pub [ed25519.PublicKeySize]byte
	err := unhex(pub[:], "public_key_hex", s.PublicKeyHex)
	return pub[:], err
}

func (s Seal) decode() (sum [sha256.Size]byte, signature [ed25519.SignatureSize]byte, pub [ed25519.PublicKeySize]byte, err error) {
	if err = unhex(sum[:], "content_sha256_hex", s.ContentSHA256Hex); err != nil {
		return
	}
	if err = unhex(signature[:], "signature_hex", s.SignatureHex); err != nil {
		return
	}
	err = unhex(pub[:], "public_key_hex", s.PublicKeyHex)
	return
}

// unhex fills dst. The standard decoder also takes upper case, and one value
// must have one spelling.
func unhex(dst []byte, field, s string) error {
	if len(s) != hex.EncodedLen(len(dst)) {
		return fmt.Errorf("seal: %s: got %d characters, want %d of lower-case hex", field, len(s), hex.EncodedLen(len(dst)))
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("seal: %s: got %q at %d, want lower-case hex", field, c, i)
		}
	}
	_, err := hex.Decode(dst, []byte(s))
	return err
}
