package pki

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

// maxCRL is far more than a vendor's list is.
const maxCRL = 16 << 20

// Lists are revocation lists that were handed in.
type Lists []*x509.RevocationList

// ParseLists reads DER revocation lists.
func ParseLists(ders [][]byte) (all Lists, err error) {
	for i, der := range ders {
		if len(der) > maxCRL {
			return nil, evidence.Refuse(evidence.BadCollateral, "revocation list %d: got %d bytes, want at most %d", i, len(der), maxCRL)
		}
		l, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, evidence.Refuse(evidence.BadCollateral, "revocation list %d: %v", i, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// Check looks up every certificate of a followed chain, leaf first and root last,
// in its issuer's list. Issuers for which need is false may have none. A list
// that is out of date still revokes; that nothing is on it proves nothing.
func (all Lists) Check(now time.Time, chain []*x509.Certificate, need func(issuer *x509.Certificate) bool) (found string, err error) {
	var open []error
	looked := 0
	for i := range len(chain) - 1 {
		lists, err := all.of(chain[i+1])
		if err != nil {
			return "", err
		}
		for _, l := range lists {
			if err := revoked(chain[i], l); err != nil {
				return "", err
			}
		}
		switch err := lists.current(now); {
		case len(lists) > 0 && err == nil:
			looked++
		case len(lists) > 0:
			open = append(open, err)
		case need(chain[i+1]):
			open = append(open, evidence.Refuse(evidence.Missing, "no revocation list of %q: hand it in, or accept_without_checking revocation", name(chain[i+1])))
		}
	}
	if len(open) > 0 {
		return "", open[0]
	}
	return fmt.Sprintf("%d of %d certificates looked up, none revoked", looked, len(chain)-1), nil
}

// current wants one of the lists to be of this time.
func (all Lists) current(now time.Time) (err error) {
	for _, l := range all {
		if err = current(now, l); err == nil {
			return nil
		}
	}
	return err
}

// of are the lists of one issuer, each with its signature checked.
func (all Lists) of(issuer *x509.Certificate) (lists Lists, err error) {
	for _, l := range all {
		if !bytes.Equal(l.RawIssuer, issuer.RawSubject) {
			continue
		}
		for _, e := range l.Extensions {
			if e.Critical { // it may say that the list is of some certificates only
				return nil, evidence.Refuse(evidence.BadCollateral, "the revocation list of %q has a critical extension that isn't known here: %v", name(issuer), e.Id)
			}
		}
		if err := l.CheckSignatureFrom(issuer); err != nil {
			return nil, evidence.Refuse(evidence.BadCollateral, "the revocation list of %q: %v", name(issuer), err)
		}
		lists = append(lists, l)
	}
	return lists, nil
}

func revoked(c *x509.Certificate, l *x509.RevocationList) error {
	for _, e := range l.RevokedCertificateEntries {
		if e.SerialNumber.Cmp(c.SerialNumber) == 0 {
			return evidence.Refuse(evidence.Revoked, "%q, serial %x, was revoked at %s", name(c), c.SerialNumber, stamp(e.RevocationTime))
		}
	}
	return nil
}

func current(now time.Time, l *x509.RevocationList) error {
	switch {
	case now.Before(l.ThisUpdate):
		return evidence.Refuse(evidence.Stale, "the revocation list of %q is of %s, after the time to judge by", l.Issuer.CommonName, stamp(l.ThisUpdate))
	case l.NextUpdate.IsZero() || now.After(l.NextUpdate):
		return evidence.Refuse(evidence.Stale, "the revocation list of %q was to be renewed by %s: fetch it again", l.Issuer.CommonName, stamp(l.NextUpdate))
	}
	return nil
}
