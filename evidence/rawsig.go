package evidence

import (
	"crypto/ecdsa"
	"math/big"
)

// VerifyRaw checks an ECDSA signature of two big-endian numbers of equal length
// (r, then s, as JWS and COSE write it) over a digest.
func VerifyRaw(pub *ecdsa.PublicKey, digest, signature []byte) error {
	size := (pub.Curve.Params().BitSize + 7) / 8
	if len(signature) != 2*size {
		return Refuse(Malformed, "signature: got %d bytes, want %d", len(signature), 2*size)
	}
	r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
	if !ecdsa.Verify(pub, digest, r, s) {
		return Refuse(Signature, "the signature doesn't fit: what was signed, the signature or the key was changed")
	}
	return nil
}
