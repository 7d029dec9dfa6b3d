package attestation

import (
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/dcbor"
)

// The claims by their registered numbers, in wire order.
type wireEAT struct {
	IssuedAt uint64        `cbor:"6,keyasint"`      // iat
	Nonce    []byte        `cbor:"10,keyasint"`     // eat_nonce
	UEID     []byte        `cbor:"256,keyasint"`    // ueid
	Profile  string        `cbor:"265,keyasint"`    // eat_profile
	Measured []measurement `cbor:"273,keyasint"`    // measurements
	Private  wirePrivate   `cbor:"-70001,keyasint"` // ours, scoped by the profile
}

type measurement struct {
	_       struct{} `cbor:",toarray"`
	Format  uint64   // a CoAP content format
	Content []byte   // the measurement, encoded as the format says
}

type wireMeasured struct {
	ImageID  string `cbor:"image_id"`
	GrantsID string `cbor:"grants_id"`
}

type wirePrivate struct {
	Tier          string `cbor:"tier"`
	ReceiptID     string `cbor:"receipt_id"`
	AttestationID string `cbor:"attestation_id"`
}

const (
	formatCBOR = 60   // application/cbor
	ueidRandom = 0x01 // a UEID that is a 32-byte value (RFC 9711 §4.2.1.1)
	ueidSize   = 1 + 32
)

// Claims is the deterministic CBOR of the claims set.
func (e EAT) Claims() ([]byte, error) {
	measured, err := dcbor.Marshal(wireMeasured{e.ImageID.String(), e.GrantsID.String()})
	if err != nil {
		return nil, err
	}
	return dcbor.Marshal(wireEAT{
		IssuedAt: e.IssuedAt,
		Nonce:    e.Nonce[:],
		UEID:     append([]byte{ueidRandom}, e.HostID[:]...),
		Profile:  EATProfile,
		Measured: []measurement{{Format: formatCBOR, Content: measured}},
		Private:  wirePrivate{e.Tier.String(), e.ReceiptID.String(), e.AttestationID.String()},
	})
}

// ParseClaims reads a claims set: exactly the six claims of the profile, in
// deterministic CBOR. Another profile is ErrProfile.
func ParseClaims(claims []byte) (EAT, error) {
	e, err := parseClaims(claims)
	if err != nil {
		return EAT{}, fmt.Errorf("eat: %w", err)
	}
	return e, nil
}

func parseClaims(claims []byte) (e EAT, err error) {
	var w wireEAT
	if err := dcbor.Unmarshal(claims, &w); err != nil {
		return EAT{}, err
	}
	if w.Profile != EATProfile {
		return EAT{}, fmt.Errorf("%w, got %q", ErrProfile, w.Profile)
	}
	if len(w.Nonce) != len(e.Nonce) {
		return EAT{}, fmt.Errorf("%w: got %d bytes, want %d", ErrNonce, len(w.Nonce), len(e.Nonce))
	}
	if len(w.UEID) != ueidSize || w.UEID[0] != ueidRandom {
		return EAT{}, fmt.Errorf("ueid: got %x, want 01 and 32 bytes", w.UEID)
	}
	e.IssuedAt, e.Nonce, e.HostID = w.IssuedAt, [32]byte(w.Nonce), joulebox.ID(w.UEID[1:])
	if err := e.readMeasured(w.Measured); err != nil {
		return EAT{}, err
	}
	return e, e.readPrivate(w.Private)
}

func (e *EAT) readMeasured(list []measurement) error {
	if len(list) != 1 || list[0].Format != formatCBOR {
		return fmt.Errorf("measurements: got %d, want one of content format %d", len(list), formatCBOR)
	}
	var m wireMeasured
	if err := dcbor.Unmarshal(list[0].Content, &m); err != nil {
		return fmt.Errorf("measurements: %w", err)
	}
	return readIDs(idText{"image_id", m.ImageID, &e.ImageID}, idText{"grants_id", m.GrantsID, &e.GrantsID})
}

func (e *EAT) readPrivate(p wirePrivate) (err error) {
	if e.Tier, err = joulebox.ParseTier(p.Tier); err != nil {
		return err
	}
	return readIDs(idText{"receipt_id", p.ReceiptID, &e.ReceiptID}, idText{"attestation_id", p.AttestationID, &e.AttestationID})
}

type idText struct {
	name, text string
	into       *joulebox.ID
}

func readIDs(ids ...idText) (err error) {
	for _, t := range ids {
		if *t.into, err = joulebox.ParseID(t.text); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}
