package attestation

import (
	"crypto"
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/cose"
)

// EATProfile is the value of the eat_profile claim (§7.8).
const EATProfile = "https://transaction.science/sandbox/eat/v1"

// EAT is the view of a statement that a generic RATS verifier reads (§7.8, RFC
// 9711). It is no second source of truth, and alone it proves no freshness: its
// nonce is bound to the run, and a relying party's own challenge enters a run
// through the unit descriptor.
type EAT struct {
	// IssuedAt is the second in which the run finished, since the Unix epoch.
	IssuedAt uint64
	// Nonce is RunNonce of the unit and the receipt.
	Nonce [32]byte
	// HostID is the signer's KeyID, in the ueid claim as a random id.
	HostID joulebox.ID
	// ImageID and GrantsID are the measurements.
	ImageID  joulebox.ID
	GrantsID joulebox.ID
	// Tier, ReceiptID and AttestationID are the profile's private claim.
	Tier          joulebox.Tier
	ReceiptID     joulebox.ID
	AttestationID joulebox.ID
}

// RunNonce binds a token, and a hardware report, to one run: BLAKE3 of the raw
// digests of the unit id and the receipt id, joined.
func RunNonce(unitID, receiptID joulebox.ID) [32]byte {
	return joulebox.Sum(append(unitID[:], receiptID[:]...))
}

// EAT is the statement's view.
func (s *Statement) EAT() EAT {
	f := &s.fields
	return EAT{
		IssuedAt:      f.FinishedAtUS / 1_000_000,
		Nonce:         RunNonce(f.UnitID, f.ReceiptID),
		HostID:        f.HostID,
		ImageID:       f.ImageID,
		GrantsID:      f.GrantsID,
		Tier:          f.Tier,
		ReceiptID:     f.ReceiptID,
		AttestationID: s.id,
	}
}

// SealEAT signs the statement's view: a CWT under tag 61 over tag 18, EdDSA. It
// refuses a signer whose KeyID isn't the statement's host_id.
func (s *Statement) SealEAT(signer crypto.Signer) ([]byte, error) {
	if err := s.checkSigner(signer); err != nil {
		return nil, err
	}
	claims, err := s.EAT().Claims()
	if err != nil {
		return nil, fmt.Errorf("eat: %w", err)
	}
	token, err := cose.SignCWT(signer, claims)
	if err != nil {
		return nil, fmt.Errorf("eat: %w", err)
	}
	return token, nil
}

// VerifyEAT checks a token, with tag 61 or without, under a key that the caller
// trusts: algorithm, signature, profile, the exact set of claims, and that the
// ueid is that key's. What it can't check without the statement is the nonce:
// see EAT.Matches. The errors are ErrAlgorithm, ErrSignature, ErrProfile,
// ErrHost and, for a malformed token, others.
func VerifyEAT(token []byte, pub ed25519.PublicKey) (EAT, error) {
	if err := checkAlgorithm(token); err != nil {
		return EAT{}, fmt.Errorf("eat: %w", err)
	}
	claims, err := cose.VerifyCWT(token, pub)
	if err != nil {
		return EAT{}, fmt.Errorf("eat: %w", err)
	}
	e, err := ParseClaims(claims)
	if err != nil {
		return EAT{}, err
	}
	if want := KeyID(pub); e.HostID != want {
		return EAT{}, fmt.Errorf("eat: %w: got %s, want %s", ErrHost, e.HostID, want)
	}
	return e, nil
}

// ParseEAT reads a token WITHOUT checking its signature: what it returns is a
// claim that anybody could have made.
func ParseEAT(token []byte) (EAT, error) {
	if err := checkAlgorithm(token); err != nil {
		return EAT{}, fmt.Errorf("eat: %w", err)
	}
	claims, err := cose.PayloadCWT(token)
	if err != nil {
		return EAT{}, fmt.Errorf("eat: %w", err)
	}
	return ParseClaims(claims)
}
