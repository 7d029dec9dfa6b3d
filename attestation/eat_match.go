package attestation

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox/internal/sig"
)

// What a relying party may want to tell apart when a token is refused.
var (
	// ErrAlgorithm: the protected header isn't exactly {1: -8}, EdDSA.
	ErrAlgorithm = errors.New("alg: want EdDSA (-8) and nothing else in the protected header")
	// ErrSignature: the token is well formed and its signature doesn't fit.
	ErrSignature = sig.ErrSignature
	// ErrProfile: the eat_profile claim names another profile.
	ErrProfile = errors.New("eat_profile: want " + EATProfile)
	// ErrHost: the ueid isn't the id of the key that signed.
	ErrHost = errors.New("ueid: want the id of the signing key")
	// ErrNonce: the nonce isn't bound to this run's unit and receipt.
	ErrNonce = errors.New("nonce: want BLAKE3(unit_id ‖ receipt_id) of this run")
	// ErrMismatch: another claim isn't the statement's.
	ErrMismatch = errors.New("claim: want the statement's")
)

// Matches reports whether the token is the view of this very statement. The
// errors are ErrNonce and ErrMismatch.
func (e EAT) Matches(s *Statement) error {
	want := s.EAT()
	if e.Nonce != want.Nonce {
		return fmt.Errorf("eat: %w: got %x, want %x", ErrNonce, e.Nonce, want.Nonce)
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"iat", e.IssuedAt, want.IssuedAt},
		{"ueid", e.HostID, want.HostID},
		{"image_id", e.ImageID, want.ImageID},
		{"grants_id", e.GrantsID, want.GrantsID},
		{"tier", e.Tier, want.Tier},
		{"receipt_id", e.ReceiptID, want.ReceiptID},
		{"attestation_id", e.AttestationID, want.AttestationID},
	} {
		if c.got != c.want {
			return fmt.Errorf("eat: %s: %w: got %v, want %v", c.name, ErrMismatch, c.got, c.want)
		}
	}
	return nil
}

// checkAlgorithm looks at the protected header alone, so that another algorithm
// is told apart from other malformations. Those are left to the strict parse.
func checkAlgorithm(token []byte) error {
	rest := token
	for _, prefix := range []string{"\xd8\x3d", "\xd2", "\x84"} {
		rest = bytes.TrimPrefix(rest, []byte(prefix))
	}
	const bstr, onlyEdDSA = 0x40, "\x43\xa1\x01\x27"
	if len(rest) > 0 && rest[0]&0xe0 == bstr && !bytes.HasPrefix(rest, []byte(onlyEdDSA)) {
		return fmt.Errorf("%w: got header bytes %x", ErrAlgorithm, rest[:min(len(rest), 16)])
	}
	return nil
}
