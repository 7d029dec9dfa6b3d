package sevsnp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/asn1"
	"slices"

	"github.com/joulebox/joulebox/evidence"
)

// endorsed is what AMD certifies about a key that signs reports.
type endorsed struct {
	cert     *x509.Certificate
	line     *line
	public   *ecdsa.PublicKey
	tcb      TCB
	hwid     []byte // the chip, for a VCEK
	provider string // for a VLEK
}

var amd = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 3704, 1}

// readKey reads the extensions that bind a certificate to a chip and its TCB.
func readKey(c *x509.Certificate, l *line) (*endorsed, error) {
	k := &endorsed{cert: c, line: l}
	var ok bool
	if k.public, ok = c.PublicKey.(*ecdsa.PublicKey); !ok || k.public.Curve != elliptic.P384() {
		return nil, evidence.Refuse(evidence.Algorithm, "%q holds a key of another kind than P-384", c.Subject.CommonName)
	}
	parts := []struct {
		into *uint8
		last int // of the extension's identifier
	}{{&k.tcb.BootLoader, 1}, {&k.tcb.TEE, 2}, {&k.tcb.SNP, 3}, {&k.tcb.Microcode, 8}}
	if l.product == Turin {
		parts = append(parts, struct {
			into *uint8
			last int
		}{&k.tcb.FMC, 9})
	}
	for _, p := range parts {
		if err := number(c, p.into, 3, p.last); err != nil {
			return nil, err
		}
	}
	if l.key == VLEK {
		k.provider = string(extension(c, 5))
		return k, nil
	}
	k.hwid = extension(c, 4)
	if want := map[bool]int{true: 8, false: 64}[l.product == Turin]; len(k.hwid) != want {
		return nil, evidence.Refuse(evidence.KeyMismatch, "%q names a chip id of %d bytes, want %d for %s", c.Subject.CommonName, len(k.hwid), want, l.product)
	}
	return k, nil
}

// isKey reports whether a certificate is for a key that signs reports.
func isKey(all []*line, c *x509.Certificate) bool {
	l, err := lineOf(all, c)
	if err == nil {
		_, err = readKey(c, l)
	}
	return err == nil && !c.IsCA
}

func extension(c *x509.Certificate, under ...int) []byte {
	id := append(slices.Clone(amd), under...)
	for _, e := range c.Extensions {
		if e.Id.Equal(id) {
			return e.Value
		}
	}
	return nil
}

// number reads a security version.
func number(c *x509.Certificate, into *uint8, under ...int) error {
	var n int
	rest, err := asn1.Unmarshal(extension(c, under...), &n)
	if err != nil || len(rest) != 0 || n < 0 || n > 255 {
		return evidence.Refuse(evidence.KeyMismatch, "%q has no security version 1.3.6.1.4.1.3704.1.%d.%d", c.Subject.CommonName, under[0], under[1])
	}
	*into = uint8(n)
	return nil
}

// binds checks that the certificate is for the key that signed this report: the
// same kind of key, product, chip and TCB.
func (k *endorsed) binds(r *Report) error {
	if k.line.key != r.SigningKey {
		return evidence.Refuse(evidence.KeyMismatch, "the report is signed by a %s, and %q is a %s", r.SigningKey, k.cert.Subject.CommonName, k.line.key)
	}
	if p := productOf(r.CPU); r.Version >= 3 && p != k.line.product {
		return evidence.Refuse(evidence.KeyMismatch, "the report is of family %#x, model %#x, and the key of a %s", r.CPU.Family, r.CPU.Model, k.line.product)
	}
	tcb, err := k.line.product.tcb(r.ReportedTCB)
	if err != nil {
		return err
	}
	if tcb != k.tcb {
		return evidence.Refuse(evidence.KeyMismatch, "the report is of TCB %s, and the key of %s", tcb, k.tcb)
	}
	if k.line.key == VLEK || r.ChipID == [64]byte{} { // a host may mask the chip
		return nil
	}
	want := make([]byte, len(r.ChipID))
	copy(want, k.hwid)
	if !bytes.Equal(want, r.ChipID[:]) {
		return evidence.Refuse(evidence.KeyMismatch, "the report is of chip %x, and the key of %x", r.ChipID, k.hwid)
	}
	return nil
}

// pickKey picks the signing certificate out of those that were handed in, and
// the line that it says to belong to. Of several it takes the one that fits.
func pickKey(all []*line, certs []*x509.Certificate, r *Report) (*endorsed, error) {
	var first *endorsed
	var firstErr error
	for _, c := range certs {
		if c.IsCA {
			continue
		}
		l, err := lineOf(all, c)
		var k *endorsed
		if err == nil {
			k, err = readKey(c, l)
		}
		if err == nil {
			if err = k.binds(r); err == nil {
				return k, nil
			}
		}
		if first == nil && firstErr == nil {
			first, firstErr = k, err
		}
	}
	if firstErr == nil {
		return nil, evidence.Refuse(evidence.Missing, "no certificate of the key that signed the report: hand in its %s", r.SigningKey)
	}
	return first, firstErr
}
