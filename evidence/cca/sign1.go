package cca

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"encoding/binary"

	"github.com/joulebox/joulebox/evidence"
)

// algorithm is one that a token may be signed under.
type algorithm struct {
	name      string
	protected string // the one header that says so: bstr of {1: alg}
	curve     string
	hash      crypto.Hash
}

var (
	es256 = algorithm{"ES256", "\x43\xa1\x01\x26", "P-256", crypto.SHA256}
	es384 = algorithm{"ES384", "\x44\xa1\x01\x38\x22", "P-384", crypto.SHA384}
)

// sign1 is a COSE_Sign1 message under tag 18, with alg in the protected header,
// nothing in the other and the payload inside (RFC 9052 §4.2).
type sign1 struct {
	alg       algorithm
	payload   []byte
	signature []byte
}

// readSign1 reads a message that fills all of b, in its only encoding.
func readSign1(name string, b []byte) (m sign1, err error) {
	rest, ok := bytes.CutPrefix(b, []byte("\xd2\x84"))
	if !ok {
		return m, evidence.Refuse(evidence.Malformed, "%s token: want a COSE_Sign1 of four elements under tag 18", name)
	}
	switch {
	case bytes.HasPrefix(rest, []byte(es256.protected)):
		m.alg = es256
	case bytes.HasPrefix(rest, []byte(es384.protected)):
		m.alg = es384
	default:
		return m, evidence.Refuse(evidence.Algorithm, "%s token: want ES256 or ES384 and nothing else in the protected header", name)
	}
	if rest, ok = bytes.CutPrefix(rest[len(m.alg.protected):], []byte("\xa0")); !ok {
		return m, evidence.Refuse(evidence.Malformed, "%s token: want nothing in the unprotected header, which nobody signs", name)
	}
	if m.payload, rest, err = takeBytes(name+" token: payload", rest); err != nil {
		return m, err
	}
	if m.signature, rest, err = takeBytes(name+" token: signature", rest); err != nil {
		return m, err
	}
	if len(rest) != 0 {
		return m, evidence.Refuse(evidence.Trailing, "%s token: %d bytes follow the signature", name, len(rest))
	}
	return m, nil
}

// verify checks the signature under a key, which pins the algorithm.
func (m *sign1) verify(key *ecdsa.PublicKey) error {
	if curve := key.Curve.Params().Name; curve != m.alg.curve {
		return evidence.Refuse(evidence.Algorithm, "%s wants a key of %s, got %s", m.alg.name, m.alg.curve, curve)
	}
	h := m.alg.hash.New()
	h.Write([]byte("\x84\x6aSignature1" + m.alg.protected + "\x40"))
	h.Write(appendBytes(nil, m.payload))
	return evidence.VerifyRaw(key, h.Sum(nil), m.signature)
}

// takeBytes takes a byte string with the shortest head off the front of b.
func takeBytes(what string, b []byte) (s, rest []byte, err error) {
	if len(b) == 0 || b[0]>>5 != 2 {
		return nil, nil, evidence.Refuse(evidence.Malformed, "%s: want a byte string of definite length", what)
	}
	n, size := uint64(b[0]&0x1f), 1
	if n >= 24 {
		if n > 27 || len(b) < 1+1<<(n-24) {
			return nil, nil, evidence.Refuse(evidence.Malformed, "%s: want a byte string of definite length", what)
		}
		width := 1 << (n - 24)
		var word [8]byte
		copy(word[8-width:], b[1:1+width])
		n, size = binary.BigEndian.Uint64(word[:]), 1+width
	}
	if !bytes.HasPrefix(b, head(n)) || len(head(n)) != size {
		return nil, nil, evidence.Refuse(evidence.Malformed, "%s: want the shortest head", what)
	}
	if n > uint64(len(b)-size) {
		return nil, nil, evidence.Refuse(evidence.Truncated, "%s: claims %d bytes, and %d are left", what, n, len(b)-size)
	}
	end := size + int(n)
	return b[size:end:end], b[end:], nil
}

func appendBytes(dst, b []byte) []byte { return append(append(dst, head(uint64(len(b)))...), b...) }

// head is the shortest head of a byte string of n bytes.
func head(n uint64) []byte {
	const bstr = 0x40
	switch {
	case n < 24:
		return []byte{bstr | byte(n)}
	case n < 1<<8:
		return []byte{bstr | 24, byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{bstr | 25}, uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32([]byte{bstr | 26}, uint32(n))
	}
	return binary.BigEndian.AppendUint64([]byte{bstr | 27}, n)
}
