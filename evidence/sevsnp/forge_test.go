package sevsnp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

// vendor is a made-up AMD with one line of products, for what no vector shows.
type vendor struct {
	line           *line
	askKey, arkKey *ecdsa.PrivateKey
	key            *ecdsa.PrivateKey // the chip's
	cert           []byte            // of it
}

var forgedAt = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func newVendor(t testing.TB, p Product, k Key, tcb TCB) *vendor {
	t.Helper()
	v := &vendor{askKey: newKey(t), arkKey: newKey(t), key: newKey(t)}
	ark := authority("ARK-"+string(p), 1)
	arkDER := certify(t, ark, ark, v.arkKey, v.arkKey)
	askName := map[Key]string{VCEK: "SEV-", VLEK: "SEV-VLEK-"}[k] + string(p)
	askDER := certify(t, authority(askName, 2), ark, v.askKey, v.arkKey)
	v.line = &line{product: p, key: k, ask: parse(t, askDER), ark: parse(t, arkDER)}
	v.cert = v.certifyKey(t, v.key, tcb, make([]byte, map[bool]int{true: 8, false: 64}[p == Turin]))
	return v
}

func (v *vendor) certifyKey(t testing.TB, key *ecdsa.PrivateKey, tcb TCB, hwid []byte) []byte {
	leaf := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "SEV-" + v.line.key.String()}, NotBefore: forgedAt.AddDate(-1, 0, 0), NotAfter: forgedAt.AddDate(1, 0, 0)}
	add := func(value any, under ...int) {
		der, err := asn1.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		leaf.ExtraExtensions = append(leaf.ExtraExtensions, pkix.Extension{Id: append(append(asn1.ObjectIdentifier{}, amd...), under...), Value: der})
	}
	add(int(tcb.BootLoader), 3, 1)
	add(int(tcb.TEE), 3, 2)
	add(int(tcb.SNP), 3, 3)
	add(int(tcb.Microcode), 3, 8)
	if v.line.product == Turin {
		add(int(tcb.FMC), 3, 9)
	}
	if v.line.key == VCEK {
		leaf.ExtraExtensions = append(leaf.ExtraExtensions, pkix.Extension{Id: append(append(asn1.ObjectIdentifier{}, amd...), 4), Value: hwid})
	}
	return certify(t, leaf, v.line.ask, key, v.askKey)
}

func (v *vendor) verifier() Verifier {
	return Verifier{lines: func() ([]*line, error) { return []*line{v.line}, nil }}
}

// sign signs a report with the chip's key and writes it out.
func (v *vendor) sign(t testing.TB, r Report) []byte {
	t.Helper()
	b := encode(r)
	digest := sha512.Sum384(b[:signedSize])
	x, y, err := ecdsa.Sign(rand.Reader, v.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	x.FillBytes(r.R[:])
	y.FillBytes(r.S[:])
	return encode(r)
}

// encode writes a report, the other way of Parse.
func encode(r Report) []byte {
	f := fields{b: make([]byte, Size), write: true}
	f.walk(&r)
	return f.b
}

// list is the root's revocation list with these serial numbers on it.
func (v *vendor) list(t testing.TB, next time.Time, serials ...int64) []byte {
	t.Helper()
	l := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: forgedAt.AddDate(0, -1, 0), NextUpdate: next}
	for _, s := range serials {
		l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(s), RevocationTime: forgedAt.AddDate(0, -2, 0)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, l, v.line.ark, v.arkKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func authority(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: forgedAt.AddDate(-5, 0, 0), NotAfter: forgedAt.AddDate(5, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func certify(t testing.TB, c, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func parse(t testing.TB, der []byte) *x509.Certificate {
	t.Helper()
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sample is a report that a careful policy accepts.
func sample() Report {
	r := Report{Version: 5, GuestSVN: 3, Policy: 1<<policyReservedOne | 1<<policySingleSocket | 1<<policyCiphertextHiding | 1<<policyAES256XTS | 1<<policyRAPLDisabled | 1<<policyPageSwapDisabled,
		SignatureAlgo: 1, PlatformInfo: 1 << platformAliasCheck, CPU: CPU{0x1a, 2, 1}, Current: Version{1, 58, 3}, Committed: Version{1, 58, 2}, LaunchMit: 5, CurrentMit: 7}
	r.ReportData[0], r.Measurement[0], r.HostData[0], r.IDKeyDigest[0], r.AuthorKeyDigest[0], r.FamilyID[0], r.ImageID[0] = 1, 2, 3, 4, 5, 6, 7
	r.AuthorKeyEn = true
	r.ReportedTCB = [8]byte{1, 2, 3, 4, 0, 0, 0, 9}
	r.CommittedTCB, r.CurrentTCB, r.LaunchTCB = r.ReportedTCB, r.ReportedTCB, r.ReportedTCB
	return r
}

var sampleTCB = TCB{FMC: 1, BootLoader: 2, TEE: 3, SNP: 4, Microcode: 9}

// careful states all of the sample.
func careful() evidence.Policy {
	r, none := sample(), uint32(0)
	return evidence.Policy{
		Now: forgedAt, Measurements: []evidence.Hex{r.Measurement[:]}, ReportData: r.ReportData[:],
		SevSnp: evidence.SevSnpPolicy{
			MinimumTCB: &sampleTCB, HostData: r.HostData[:], MaxVMPL: &none, SigningKey: "vcek", Products: []string{"Turin"},
			ChipIDs: []evidence.Hex{r.ChipID[:]}, FamilyID: r.FamilyID[:], ImageID: r.ImageID[:],
			IDKeyDigests: []evidence.Hex{r.IDKeyDigest[:]}, AuthorKeyDigests: []evidence.Hex{r.AuthorKeyDigest[:]},
			MinimumGuestSVN: 3, MinimumFirmware: "1.58.2",
			RequireNoSMT: true, RequireSingleSocket: true, RequireCiphertextHiding: true, RequireMemoryAliasCheck: true,
			RequireAES256XTS: true, RequireRAPLDisabled: true, RequirePageSwapDisabled: true, RequireNoCXL: true,
		},
	}
}
