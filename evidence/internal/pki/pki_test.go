package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

var now = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

type made struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func template(name string, authority bool) *x509.Certificate {
	c := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0), BasicConstraintsValid: authority, IsCA: authority}
	if authority {
		c.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	return c
}

func issue(t testing.TB, c *x509.Certificate, by *made) *made {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := Parse(der)
	if err != nil {
		t.Fatal(err)
	}
	return &made{cert, key}
}

func wantReason(t *testing.T, name string, err error, r evidence.Reason) {
	t.Helper()
	if r == "" && err != nil || r != "" && !errors.Is(err, r) {
		t.Errorf("%s: got %v, want %q", name, err, r)
	}
}

// What crypto/x509's own Verify would look at, one thing wrong at a time.
func TestFollow(t *testing.T) {
	root := issue(t, template("root", true), nil)
	other := issue(t, template("root", true), nil)
	middle := issue(t, template("middle", true), root)
	leaf := issue(t, template("leaf", false), middle)
	bare := issue(t, template("bare", false), root)
	short := template("short", true)
	short.MaxPathLenZero = true
	tight := issue(t, short, root)
	below := issue(t, template("below", true), tight)
	critical := template("critical", false)
	critical.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
	noSign := template("no sign", true)
	noSign.KeyUsage = x509.KeyUsageDigitalSignature
	unsigning := issue(t, noSign, root)
	for name, x := range map[string]struct {
		at     time.Time
		chain  []*made
		reason evidence.Reason
	}{
		"good":                     {now, []*made{leaf, middle, root}, ""},
		"too late":                 {now.AddDate(2, 0, 0), []*made{leaf, middle, root}, evidence.Expired},
		"too early":                {now.AddDate(-2, 0, 0), []*made{leaf, middle, root}, evidence.NotYetValid},
		"a link missing":           {now, []*made{leaf, root}, evidence.Chain},
		"a namesake of the root":   {now, []*made{leaf, middle, other}, evidence.Chain},
		"out of order":             {now, []*made{middle, leaf, root}, evidence.Chain},
		"no authority":             {now, []*made{issue(t, template("x", false), bare), bare, root}, evidence.Chain},
		"no right to certify":      {now, []*made{issue(t, template("x", false), unsigning), unsigning, root}, evidence.Chain},
		"a path of one more":       {now, []*made{issue(t, template("x", false), below), below, tight, root}, evidence.Chain},
		"within the path":          {now, []*made{issue(t, template("x", false), tight), tight, root}, ""},
		"something critical":       {now, []*made{issue(t, critical, middle), middle, root}, evidence.Chain},
		"the root is all there is": {now, []*made{root}, ""},
	} {
		var chain []*x509.Certificate
		for _, m := range x.chain {
			chain = append(chain, m.cert)
		}
		wantReason(t, name, Follow(x.at, chain...), x.reason)
	}
}

// A list counts for its own issuer, its own time and all certificates, or not at all.
func TestLists(t *testing.T) {
	root := issue(t, template("root", true), nil)
	leaf := issue(t, template("leaf", false), root)
	chain := []*x509.Certificate{leaf.cert, root.cert}
	list := func(change func(*x509.RevocationList)) []byte {
		l := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: now.Add(-time.Hour), NextUpdate: now.Add(time.Hour)}
		change(l)
		der, err := x509.CreateRevocationList(rand.Reader, l, root.cert, root.key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	always := func(*x509.Certificate) bool { return true }
	never := func(*x509.Certificate) bool { return false }
	for name, x := range map[string]struct {
		lists  [][]byte
		need   func(*x509.Certificate) bool
		reason evidence.Reason
	}{
		"none, and needed":     {nil, always, evidence.Missing},
		"none, and not needed": {nil, never, ""},
		"clean":                {[][]byte{list(func(*x509.RevocationList) {})}, always, ""},
		"revoked": {[][]byte{list(func(l *x509.RevocationList) {
			l.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: big.NewInt(7), RevocationTime: now}}
		})}, never, evidence.Revoked},
		"of tomorrow": {[][]byte{list(func(l *x509.RevocationList) { l.ThisUpdate = now.Add(time.Minute) })}, always, evidence.Stale},
		"of some certificates only": {[][]byte{list(func(l *x509.RevocationList) {
			l.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 28}, Critical: true, Value: []byte{0x30, 0}}}
		})}, always, evidence.BadCollateral},
	} {
		lists, err := ParseLists(x.lists)
		if err == nil {
			_, err = lists.Check(now, chain, x.need)
		}
		wantReason(t, name, err, x.reason)
	}
}

// What parses as a quote's PEM is written as the same bytes.
func FuzzBlocks(f *testing.F) {
	one := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: bytes.Repeat([]byte{1}, 100)})
	f.Add(one)
	f.Add(append(one, one...))
	f.Add([]byte("text\n" + string(one)))
	f.Fuzz(func(t *testing.T, text []byte) {
		if ders, err := File(text); err == nil && len(ders) == 0 {
			t.Error("a file of nothing")
		}
		ders, err := Blocks(text)
		if err != nil {
			return
		}
		var again []byte
		for _, d := range ders {
			again = append(again, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d})...)
		}
		if !bytes.Equal(again, text) {
			t.Errorf("got %q, want %q", again, text)
		}
	})
}
