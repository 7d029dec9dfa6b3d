package tdx

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"time"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/pki"
)

// platform is what Intel certifies about a machine in its PCK certificate.
type platform struct {
	chain  []*x509.Certificate // PCK, platform or processor CA, root
	public *ecdsa.PublicKey
	svn    [16]int // of the components
	pceSVN int
	pceID  []byte
	fmspc  []byte
}

// sgx is the arc of Intel's extensions.
var sgx = asn1.ObjectIdentifier{1, 2, 840, 113741, 1, 13, 1}

// readPlatform reads the chain of a quote and follows it to Intel's root.
func readPlatform(pem []byte, root *x509.Certificate, now time.Time) (*platform, error) {
	ders, err := pki.Blocks(bytes.TrimSuffix(pem, []byte{0})) // a C string's end
	if err != nil {
		return nil, err
	}
	chain, err := pki.ParseAll(ders)
	if err != nil {
		return nil, err
	}
	if len(chain) != 3 {
		return nil, evidence.Refuse(evidence.Chain, "the PCK's chain: got %d certificates, want 3", len(chain))
	}
	if !pki.Same(chain[2], root) {
		return nil, evidence.Refuse(evidence.Chain, "the PCK's chain ends in %q, which isn't Intel's root", chain[2].Subject.CommonName)
	}
	chain[2] = root
	if err := checkNames(chain); err != nil {
		return nil, err
	}
	if err := pki.Follow(now, chain...); err != nil {
		return nil, err
	}
	p := &platform{chain: chain}
	if p.public, err = p256(chain[0]); err != nil {
		return nil, err
	}
	return p, p.extension()
}

// checkNames keeps Intel's other certificates, such as the one that signs TCB
// info, from standing in for a platform's.
func checkNames(chain []*x509.Certificate) error {
	leaf, ca := chain[0].Subject.CommonName, chain[1].Subject.CommonName
	if leaf != "Intel SGX PCK Certificate" || chain[0].IsCA {
		return evidence.Refuse(evidence.Chain, "%q isn't a PCK certificate", leaf)
	}
	if ca != "Intel SGX PCK Platform CA" && ca != "Intel SGX PCK Processor CA" {
		return evidence.Refuse(evidence.Chain, "%q isn't an authority for PCK certificates", ca)
	}
	return nil
}

func p256(c *x509.Certificate) (*ecdsa.PublicKey, error) {
	public, ok := c.PublicKey.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return nil, evidence.Refuse(evidence.Algorithm, "%q holds a key of another kind than P-256", c.Subject.CommonName)
	}
	return public, nil
}

// member is one entry of Intel's extension.
type member struct {
	ID    asn1.ObjectIdentifier
	Value asn1.RawValue
}

// extension reads what the certificate says of the platform.
func (p *platform) extension() error {
	leaf := p.chain[0]
	at := slices.IndexFunc(leaf.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(sgx) })
	if at < 0 {
		return evidence.Refuse(evidence.Chain, "the PCK certificate lacks Intel's extension")
	}
	var all, tcb []member
	if !whole(leaf.Extensions[at].Value, &all) || !whole(find(all, 2), &tcb) || !whole(find(all, 3), &p.pceID) || !whole(find(all, 4), &p.fmspc) {
		return evidence.Refuse(evidence.Chain, "the PCK certificate's extension isn't Intel's")
	}
	for i := range p.svn {
		if !whole(find(tcb, 2, i+1), &p.svn[i]) || p.svn[i] < 0 || p.svn[i] > 255 {
			return evidence.Refuse(evidence.Chain, "the PCK certificate lacks a security version for component %d", i+1)
		}
	}
	if !whole(find(tcb, 2, 17), &p.pceSVN) || p.pceSVN < 0 || p.pceSVN > 65535 || len(p.pceID) != 2 || len(p.fmspc) != 6 {
		return evidence.Refuse(evidence.Chain, "the PCK certificate lacks a PCESVN, a PCEID or an FMSPC")
	}
	return nil
}

// find is the DER of the entry with this identifier under Intel's arc.
func find(all []member, under ...int) []byte {
	id := append(slices.Clone(sgx), under...)
	for _, m := range all {
		if m.ID.Equal(id) {
			return m.Value.FullBytes
		}
	}
	return nil
}

func whole(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}
