package ledger

import (
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/sig"
)

// PayloadType is that of an in-toto statement within an envelope.
const PayloadType = "application/vnd.in-toto+json"

// envelope is a DSSE envelope (DSSE 1.0.2). Members that aren't known are ignored,
// as its rules want it.
type envelope struct {
	Payload     string      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// authenticated is what is signed: the type and the payload, each with its length.
func authenticated(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// SealEnvelope signs a payload and puts it in an envelope. The key is named by its
// host id, the address of its 32 bytes.
func SealEnvelope(signer crypto.Signer, payload []byte) ([]byte, error) {
	public, err := sig.Public(signer)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	s, err := sig.Sign(signer, authenticated(PayloadType, payload))
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	return json.Marshal(envelope{
		Payload: base64.StdEncoding.EncodeToString(payload), PayloadType: PayloadType,
		Signatures: []signature{{joulebox.Sum(public).String(), base64.StdEncoding.EncodeToString(s)}},
	})
}

// OpenEnvelope returns the payload that the key signed: the bytes that were
// verified, and no second reading of them.
func OpenEnvelope(src []byte, pinned ed25519.PublicKey) ([]byte, error) {
	var e envelope
	if err := json.Unmarshal(src, &e); err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	if e.PayloadType != PayloadType {
		return nil, fmt.Errorf("envelope: payloadType: got %q, want %q", e.PayloadType, PayloadType)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("envelope: payload: %w", err)
	}
	message := authenticated(e.PayloadType, payload)
	for _, s := range e.Signatures {
		if b, err := base64.StdEncoding.DecodeString(s.Sig); err == nil && sig.Verify(pinned, message, b) == nil {
			return payload, nil
		}
	}
	return nil, errors.New("envelope: no signature is by the pinned key")
}
