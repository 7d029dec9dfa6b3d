package sevsnp

import (
	"crypto/sha512"
	"crypto/x509"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/pki"
)

// Verifier verifies reports against AMD's built-in roots.
type Verifier struct {
	lines func() ([]*line, error) // nil is the built-in ones
}

// Kind is evidence.SevSnp.
func (Verifier) Kind() evidence.Kind { return evidence.SevSnp }

// Verify implements evidence.Verifier. The certificates must hold the VCEK or
// VLEK; AMD's own are built in, and where some are handed in with it, the chain
// is followed through those.
func (v Verifier) Verify(report []byte, c evidence.Collateral, p evidence.Policy) *evidence.Appraisal {
	a := evidence.NewAppraisal(evidence.SevSnp)
	if !a.Clock(&p) {
		return a
	}
	r, err := Parse(report)
	if err != nil {
		a.Check("form", err, "")
		return a
	}
	a.Check("form", nil, "report version %d, %d bytes, nothing reserved is set", r.Version, Size)
	k, chain, ok := v.authentic(a, report, r, c, &p)
	if !ok {
		return a
	}
	revocation(a, c, &p, chain)
	a.Claims = claims(r, k)
	demands(a, r, k, &p)
	return a
}

// authentic makes the checks that the report is a genuine one: the key is for
// this report, AMD certifies it, and it signed these bytes.
func (v Verifier) authentic(a *evidence.Appraisal, report []byte, r *Report, c evidence.Collateral, p *evidence.Policy) (*endorsed, []*x509.Certificate, bool) {
	load := v.lines
	if load == nil {
		load = lines
	}
	all, err := load()
	var certs []*x509.Certificate
	if err == nil {
		certs, err = pki.ParseAll(c.Certificates)
	}
	var k *endorsed
	if err == nil {
		k, err = pickKey(all, certs, r)
	}
	if err != nil {
		a.Check("key", err, "")
		return nil, nil, false
	}
	a.Check("key", nil, "%s of this chip, %s, and this TCB", k.line.key, k.line.product)
	chain, err := k.follow(all, certs, p)
	if !a.Check("chain", err, "certified by %q under AMD's root %q", k.line.ask.Subject.CommonName, k.line.ark.Subject.CommonName) {
		return nil, nil, false
	}
	digest := sha512.Sum384(report[:signedSize])
	err = evidence.VerifyRaw(k.public, digest[:], append(r.R[:len(r.R):len(r.R)], r.S[:]...))
	return k, chain, a.Check("signature", err, "ECDSA P-384 over the report's %d bytes", signedSize)
}

// follow is the chain from the key to AMD's root. Certificates of authorities
// that were handed in take the place of the built-in signing key, and must lead
// to the same root. A certificate that is no part of the chain is refused, unless
// it is for another chip's key, or this one's at another TCB.
func (k *endorsed) follow(all []*line, certs []*x509.Certificate, p *evidence.Policy) ([]*x509.Certificate, error) {
	chain := []*x509.Certificate{k.cert, k.line.ask, k.line.ark}
	var rest []*x509.Certificate
	for _, c := range certs {
		if !pki.Same(c, k.line.ark) && !isKey(all, c) {
			rest = append(rest, c)
		}
	}
	if len(rest) > 0 {
		if chain[1] = pki.IssuerAmong(k.cert, rest); chain[1] == nil {
			return nil, evidence.Refuse(evidence.Chain, "%q is issued by %q, which isn't among the certificates that were handed in", k.cert.Subject.CommonName, k.cert.Issuer.CommonName)
		}
	}
	for _, c := range rest {
		if !pki.Same(c, chain[1]) {
			return nil, evidence.Refuse(evidence.Chain, "%q was handed in, and is no part of the chain to AMD's root for %s", c.Subject.CommonName, k.line.product)
		}
	}
	return chain, pki.Follow(p.Now, chain...)
}

// revocation looks the signing key up in the root's list. AMD gives out no list
// for the keys of chips: those are retired by their TCB.
func revocation(a *evidence.Appraisal, c evidence.Collateral, p *evidence.Policy, chain []*x509.Certificate) {
	const name = "revocation"
	lists, err := pki.ParseLists(c.CRLs)
	if err == nil && len(lists) == 0 && p.Waives(evidence.NoRevocation) {
		a.Skip(name, "no list was handed in, and the policy does without")
		return
	}
	root := chain[len(chain)-1]
	found := ""
	if err == nil {
		found, err = lists.Check(p.Now, chain, func(issuer *x509.Certificate) bool {
			return pki.Same(issuer, root) && !p.Waives(evidence.NoRevocation)
		})
	}
	a.Check(name, err, "%s", found)
}
