// Package pki follows short chains of certificates to a pinned root. It does what
// crypto/x509's Verify does and no more than evidence needs: no names, no key
// uses of the web, no building of paths, no system roots.
package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

// MaxCertificate is far more than a certificate or its PEM is.
const MaxCertificate = 64 << 10

// Parse reads one DER certificate.
func Parse(der []byte) (*x509.Certificate, error) {
	if len(der) > MaxCertificate {
		return nil, evidence.Refuse(evidence.Chain, "a certificate of %d bytes, want at most %d", len(der), MaxCertificate)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, evidence.Refuse(evidence.Chain, "certificate: %v", err)
	}
	return c, nil
}

// ParseAll reads DER certificates.
func ParseAll(ders [][]byte) ([]*x509.Certificate, error) {
	all := make([]*x509.Certificate, len(ders))
	for i, der := range ders {
		c, err := Parse(der)
		if err != nil {
			return nil, err
		}
		all[i] = c
	}
	return all, nil
}

// Blocks reads PEM certificates that fill the whole text in PEM's one usual
// spelling: what parses re-encodes to the same bytes.
func Blocks(text []byte) (ders [][]byte, err error) {
	rest := text
	for len(rest) > 0 {
		block, after := pem.Decode(rest)
		if block == nil || block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			return nil, evidence.Refuse(evidence.Chain, "want PEM certificates alone")
		}
		if written := rest[:len(rest)-len(after)]; !bytes.Equal(pem.EncodeToMemory(block), written) {
			return nil, evidence.Refuse(evidence.Chain, "a PEM certificate in another spelling than the usual one")
		}
		ders, rest = append(ders, block.Bytes), after
	}
	return ders, nil
}

// File reads the PEM certificates of a file, at least one, in whatever line width
// its maker likes and with text between them.
func File(text []byte) (ders [][]byte, err error) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, evidence.Refuse(evidence.Chain, "got PEM of a %q, want certificates", block.Type)
		}
		ders, text = append(ders, block.Bytes), rest
	}
	if len(ders) == 0 || bytes.Contains(text, []byte("-----BEGIN")) {
		return nil, evidence.Refuse(evidence.Chain, "want PEM certificates, got some text that is none after %d", len(ders))
	}
	return ders, nil
}

// Issued checks that parent certifies child: the name, the right to certify, and
// the signature.
func Issued(child, parent *x509.Certificate) error {
	switch {
	case !bytes.Equal(child.RawIssuer, parent.RawSubject):
		return evidence.Refuse(evidence.Chain, "%q names the issuer %q, and the next certificate is %q", name(child), child.Issuer.CommonName, name(parent))
	case !parent.BasicConstraintsValid || !parent.IsCA || parent.KeyUsage&x509.KeyUsageCertSign == 0:
		return evidence.Refuse(evidence.Chain, "%q may not certify others", name(parent))
	}
	if err := child.CheckSignatureFrom(parent); err != nil {
		return evidence.Refuse(evidence.Chain, "%q isn't signed by %q: %v", name(child), name(parent), err)
	}
	return nil
}

// Follow checks a chain, leaf first and the pinned root last, at a time. The
// root's own signature is not looked at: it is trusted for being itself.
func Follow(now time.Time, chain ...*x509.Certificate) error {
	for i, c := range chain {
		if err := Current(now, c); err != nil {
			return err
		}
		if len(c.UnhandledCriticalExtensions) > 0 {
			return evidence.Refuse(evidence.Chain, "%q has a critical extension that isn't known here: %v", name(c), c.UnhandledCriticalExtensions[0])
		}
		if below := i - 1; c.IsCA && (c.MaxPathLen > 0 || c.MaxPathLenZero) && below > c.MaxPathLen {
			return evidence.Refuse(evidence.Chain, "%q may certify a path of %d, got %d", name(c), c.MaxPathLen, below)
		}
		if i+1 < len(chain) {
			if err := Issued(c, chain[i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Current checks a certificate's window.
func Current(now time.Time, c *x509.Certificate) error {
	switch {
	case now.Before(c.NotBefore):
		return evidence.Refuse(evidence.NotYetValid, "%q is valid from %s", name(c), stamp(c.NotBefore))
	case now.After(c.NotAfter):
		return evidence.Refuse(evidence.Expired, "%q was valid until %s", name(c), stamp(c.NotAfter))
	}
	return nil
}

// Same reports whether two certificates are the same bytes.
func Same(a, b *x509.Certificate) bool { return bytes.Equal(a.Raw, b.Raw) }

// SelfIssued reports whether a certificate names itself as its issuer.
func SelfIssued(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) }

// IssuerAmong finds the certificate that child's issuer names, nil for none.
func IssuerAmong(child *x509.Certificate, all []*x509.Certificate) *x509.Certificate {
	for _, c := range all {
		if bytes.Equal(child.RawIssuer, c.RawSubject) && !Same(child, c) {
			return c
		}
	}
	return nil
}

func name(c *x509.Certificate) string { return c.Subject.CommonName }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
