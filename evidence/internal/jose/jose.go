// Package jose reads JSON Web Signatures (RFC 7515) in the compact form under one
// ECDSA algorithm that the caller pins, and the keys for it (RFC 7517). The
// header's alg chooses nothing: another than the pinned one is refused, and so is
// a header with anything that would have to be understood.
package jose

import (
	"crypto"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json/v2"
	"strings"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/internal/sig"
)

// Algorithm is a signature algorithm that can be pinned.
type Algorithm struct {
	Name  string // in a header
	curve string // in a key
	hash  crypto.Hash
}

// The algorithms.
var (
	ES256 = Algorithm{"ES256", "P-256", crypto.SHA256}
	ES384 = Algorithm{"ES384", "P-384", crypto.SHA384}
)

// maxToken is far more than a token of evidence is.
const maxToken = 1 << 20

// Token is a token that was read and not yet verified.
type Token struct {
	KeyID   string
	Payload []byte

	signed    string // what the signature covers
	signature []byte
}

// header has all members that may be there.
type header struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`
}

// base64url is strict but for line breaks, which decode looks for itself.
var base64url = base64.RawURLEncoding.Strict()

func decode(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, evidence.Refuse(evidence.Malformed, "a line break in base64url")
	}
	b, err := base64url.DecodeString(s)
	if err != nil {
		return nil, evidence.Refuse(evidence.Malformed, "want base64url without padding or unused bits: %v", err)
	}
	return b, nil
}

// Parse reads a token and refuses another algorithm than alg. The errors are
// *evidence.Refusal.
func Parse(text string, alg Algorithm) (*Token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(text) > maxToken {
		return nil, evidence.Refuse(evidence.Malformed, "a token of %d parts and %d bytes, want three and at most %d", len(parts), len(text), maxToken)
	}
	head, err := decode(parts[0])
	if err != nil {
		return nil, err
	}
	var h header
	if err := json.Unmarshal(head, &h, json.RejectUnknownMembers(true)); err != nil {
		return nil, evidence.Refuse(evidence.Malformed, "header: want alg, kid and typ alone: %v", err)
	}
	if h.Alg != alg.Name {
		return nil, evidence.Refuse(evidence.Algorithm, "alg: got %q, want %s", h.Alg, alg.Name)
	}
	t := &Token{KeyID: h.Kid, signed: parts[0] + "." + parts[1]}
	if t.Payload, err = decode(parts[1]); err != nil {
		return nil, err
	}
	t.signature, err = decode(parts[2])
	return t, err
}

// Verify checks the signature under a key of the algorithm's curve.
func (t *Token) Verify(key *ecdsa.PublicKey, alg Algorithm) error {
	if key.Curve.Params().Name != alg.curve {
		return evidence.Refuse(evidence.Algorithm, "%s wants a key of %s, got %s", alg.Name, alg.curve, key.Curve.Params().Name)
	}
	h := alg.hash.New()
	h.Write([]byte(t.signed))
	return evidence.VerifyRaw(key, h.Sum(nil), t.signature)
}

// SignEdDSA makes a token of a JSON payload, signed with Ed25519 (RFC 8037).
func SignEdDSA(signer crypto.Signer, typ, kid string, payload []byte) (string, error) {
	head, err := json.Marshal(header{Alg: "EdDSA", Kid: kid, Typ: typ}, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	signed := base64url.EncodeToString(head) + "." + base64url.EncodeToString(payload)
	s, err := sig.Sign(signer, []byte(signed))
	if err != nil {
		return "", err
	}
	return signed + "." + base64url.EncodeToString(s), nil
}
