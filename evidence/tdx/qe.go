package tdx

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/binary"

	"github.com/joulebox/joulebox/evidence"
)

// enclave is the report of the quoting enclave, an SGX report, as far as it is
// looked at.
type enclave struct {
	miscSelect []byte // 4
	attributes []byte // 16
	signer     []byte // 32
	productID  uint32
	svn        uint32
	data       []byte // 64
}

func readEnclave(b []byte) enclave {
	return enclave{
		miscSelect: b[16:20], attributes: b[48:64], signer: b[128:160], data: b[320:384],
		productID: uint32(binary.LittleEndian.Uint16(b[256:])), svn: uint32(binary.LittleEndian.Uint16(b[258:])),
	}
}

// intelTDQE is Intel's quoting enclave for TDX, whatever its version. Any enclave
// with access to the provisioning key could have a key certified as this one's,
// so this is checked whether or not Intel's statement is at hand.
var intelTDQE = qeIdentity{
	ID: "TD_QE", Version: 2, ProductID: 2,
	MiscSelect: make(digits, 4), MiscSelectMask: digits{0xff, 0xff, 0xff, 0xff},
	Attributes: digits{0: 0x11, 15: 0}, AttributesMask: digits{0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 15: 0},
	Signer: digits{0xdc, 0x9e, 0x2a, 0x7c, 0x6f, 0x94, 0x8f, 0x17, 0x47, 0x4e, 0x34, 0xa7, 0xfc, 0x43, 0xed, 0x03, 0x0f, 0x7c, 0x15, 0x63, 0xf1, 0xba, 0xbd, 0xdf, 0x63, 0x40, 0xc8, 0x2e, 0x0e, 0x54, 0xa8, 0xc5},
}

// matches checks that an enclave is the one that a statement is about.
func (id *qeIdentity) matches(e enclave) error {
	if id.ID != "TD_QE" || id.Version != 2 {
		return evidence.Refuse(evidence.BadCollateral, "enclaveIdentity: got id %q, version %d, want TD_QE, 2", id.ID, id.Version)
	}
	misc := bytes.Clone(e.miscSelect) // little-endian, and Intel writes it as a number
	for i, j := 0, len(misc)-1; i < j; i, j = i+1, j-1 {
		misc[i], misc[j] = misc[j], misc[i]
	}
	if !bytes.Equal(e.signer, id.Signer) || e.productID != id.ProductID || !masked(misc, id.MiscSelect, id.MiscSelectMask) || !masked(e.attributes, id.Attributes, id.AttributesMask) {
		return evidence.Refuse(evidence.KeyMismatch, "the quoting enclave is product %d of signer %x with attributes %x, and Intel's is product %d of %x with %x",
			e.productID, e.signer, e.attributes, id.ProductID, []byte(id.Signer), []byte(id.Attributes))
	}
	return nil
}

// verdict adds what Intel says of the enclave's version.
func (id *qeIdentity) verdict(v *verdict, e enclave) error {
	for _, l := range id.Levels {
		if e.svn >= l.TCB.SVN {
			v.add(l.level)
			return nil
		}
	}
	return evidence.Refuse(evidence.TCB, "the quoting enclave's version %d is below every one that Intel lists", e.svn)
}

// endorsed checks that the platform vouches for the attestation key: its PCK
// signed the report of Intel's quoting enclave, which holds the key's digest.
func (q *Quote) endorsed(p *platform) (enclave, error) {
	digest := sha256.Sum256(q.qeReport)
	if err := evidence.VerifyRaw(p.public, digest[:], q.qeSigned); err != nil {
		return enclave{}, evidence.Refuse(evidence.Signature, "the quoting enclave's report isn't signed by this platform's PCK")
	}
	e := readEnclave(q.qeReport)
	bound := sha256.Sum256(append(q.key[:len(q.key):len(q.key)], q.qeAuth...))
	if !bytes.Equal(bound[:], e.data[:32]) || len(bytes.Trim(e.data[32:], "\x00")) != 0 {
		return enclave{}, evidence.Refuse(evidence.KeyMismatch, "the quoting enclave vouches for another attestation key")
	}
	return e, intelTDQE.matches(e)
}

// authentic checks the quote's own signature.
func (q *Quote) authentic() error {
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, q.key...))
	if err != nil {
		return evidence.Refuse(evidence.Signature, "the attestation key isn't a point of P-256")
	}
	digest := sha256.Sum256(q.signed)
	return evidence.VerifyRaw(public, digest[:], q.signature)
}
