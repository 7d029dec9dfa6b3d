// Package cose reads and writes the one COSE_Sign1 message (RFC 9052 §4.2) that
// a JCR-1 envelope and an EAT are (§6.4, §7.8): EdDSA over Ed25519, nothing else in
// any header, payload inside. There is no header to negotiate with, so there is
// none to confuse: an unknown crit, another algorithm, a header in two places or
// a second spelling of the same message is not this message and is refused.
package cose

import (
	"crypto"
	"crypto/ed25519"

	"github.com/joulebox/joulebox/internal/sig"
)

// Wire constants. Every byte but payload and signature is fixed.
const (
	tagSign1  = "\xd2"             // tag 18
	tagCWT    = "\xd8\x3d"         // tag 61 (RFC 8392)
	array4    = "\x84"             // exactly four elements
	protected = "\x43\xa1\x01\x27" // bstr of {1: -8}: alg EdDSA
	emptyMap  = "\xa0"             // no unprotected header
	sigHead   = "\x58\x40"         // bstr of 64 bytes
)

// Sign makes the tagged envelope of payload: tag 18, alg EdDSA, no unprotected
// header, payload attached, no external data.
func Sign(signer crypto.Signer, payload []byte) ([]byte, error) {
	return sign(signer, payload, tagSign1)
}

// Verify checks an envelope, tagged 18 or untagged, strictly and against pub, and
// returns its payload, which aliases envelope. Nothing of an envelope that fails
// is returned.
func Verify(envelope []byte, pub ed25519.PublicKey) (payload []byte, err error) {
	return verify(envelope, pub, parse)
}

// Payload reads an envelope as strictly as Verify does and returns its payload
// without checking the signature. The payload aliases envelope.
func Payload(envelope []byte) ([]byte, error) {
	m, err := parse(envelope)
	return m.payload, err
}

// SignCWT makes a CBOR Web Token: Sign's envelope under tag 61 (RFC 8392 §6).
func SignCWT(signer crypto.Signer, claims []byte) ([]byte, error) {
	return sign(signer, claims, tagCWT+tagSign1)
}

// VerifyCWT is Verify for a token: tag 61 over tag 18, or an envelope without 61.
func VerifyCWT(token []byte, pub ed25519.PublicKey) (claims []byte, err error) {
	return verify(token, pub, parseCWT)
}

// PayloadCWT is Payload for a token.
func PayloadCWT(token []byte) ([]byte, error) {
	m, err := parseCWT(token)
	return m.payload, err
}

func sign(signer crypto.Signer, payload []byte, tags string) ([]byte, error) {
	s, err := sig.Sign(signer, toBeSigned(payload))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(tags)+len(array4+protected+emptyMap+sigHead)+maxHead+len(payload)+len(s))
	out = append(out, tags+array4+protected+emptyMap...)
	out = appendBytes(out, payload)
	out = append(out, sigHead...)
	return append(out, s...), nil
}

func verify(b []byte, pub ed25519.PublicKey, parse func([]byte) (message, error)) ([]byte, error) {
	m, err := parse(b)
	if err != nil {
		return nil, err
	}
	if err := sig.Verify(pub, toBeSigned(m.payload), m.signature); err != nil {
		return nil, err
	}
	return m.payload, nil
}

// toBeSigned is the Sig_structure of RFC 9052 §4.4 with empty external data.
func toBeSigned(payload []byte) []byte {
	const head = array4 + "\x6aSignature1" + protected + "\x40"
	out := make([]byte, 0, len(head)+maxHead+len(payload))
	return appendBytes(append(out, head...), payload)
}
