package tdx

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

var forgedAt = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// vendor is a made-up Intel with one platform, for what no vector shows.
type vendor struct {
	root, ca, pck, signing                  *x509.Certificate
	rootKey, caKey, pckKey, signKey, attKey *ecdsa.PrivateKey
	qe                                      []byte // the quoting enclave's report, but for its data
}

func newVendor(t testing.TB) *vendor {
	t.Helper()
	v := &vendor{rootKey: newKey(t), caKey: newKey(t), pckKey: newKey(t), signKey: newKey(t), attKey: newKey(t)}
	v.root = certify(t, authority("Intel SGX Root CA", 1), nil, v.rootKey, v.rootKey)
	v.ca = certify(t, authority("Intel SGX PCK Platform CA", 2), v.root, v.caKey, v.rootKey)
	leaf := entity("Intel SGX PCK Certificate", 3)
	leaf.ExtraExtensions = []pkix.Extension{{Id: sgx, Value: extensionOf(t)}}
	v.pck = certify(t, leaf, v.ca, v.pckKey, v.caKey)
	v.signing = certify(t, entity(signingName, 4), v.root, v.signKey, v.rootKey)
	v.qe = make([]byte, qeReport)
	copy(v.qe[48:], intelTDQE.Attributes)
	copy(v.qe[128:], intelTDQE.Signer)
	binary.LittleEndian.PutUint16(v.qe[256:], 2)
	binary.LittleEndian.PutUint16(v.qe[258:], 5)
	return v
}

func (v *vendor) verifier() Verifier {
	return Verifier{anchors: func() (*anchors, error) { return &anchors{v.root, []*x509.Certificate{v.signing}}, nil }}
}

// extensionOf is Intel's extension for a platform whose components are 7, PCESVN
// 13, FMSPC 0a…0f.
func extensionOf(t testing.TB) []byte {
	entry := func(value any, under ...int) member {
		der := must[[]byte](t)(asn1.Marshal(value))
		return member{append(append(asn1.ObjectIdentifier{}, sgx...), under...), asn1.RawValue{FullBytes: der}}
	}
	var tcb []member
	for i := range 16 {
		tcb = append(tcb, entry(7, 2, i+1))
	}
	tcb = append(tcb, entry(13, 2, 17))
	return must[[]byte](t)(asn1.Marshal([]member{entry(make([]byte, 16), 1), entry(tcb, 2), entry([]byte{0, 0}, 3), entry([]byte{10, 11, 12, 13, 14, 15}, 4)}))
}

func authority(name string, serial int64) *x509.Certificate {
	c := entity(name, serial)
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	return c
}

func entity(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: forgedAt.AddDate(-2, 0, 0), NotAfter: forgedAt.AddDate(2, 0, 0)}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	return must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}

func certify(t testing.TB, c, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) *x509.Certificate {
	if parent == nil {
		parent = c
	}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer))
	return must[*x509.Certificate](t)(x509.ParseCertificate(der))
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func rawSign(t testing.TB, k *ecdsa.PrivateKey, b []byte) []byte {
	digest := sha256.Sum256(b)
	r, s, err := ecdsa.Sign(rand.Reader, k, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, rawSize)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out
}

// quote is a quote of a body in a version of the format.
func (v *vendor) quote(t testing.TB, version uint16, b Body) []byte {
	t.Helper()
	h := make([]byte, headerSize)
	binary.LittleEndian.PutUint16(h, version)
	h[2], h[4] = keyP256, teeTDX
	copy(h[12:], intelQE[:])
	q := &Quote{Version: version, Body: b}
	q.signed = append(h, bodyBytes(version, b)...)
	point := must[[]byte](t)(v.attKey.PublicKey.Bytes())
	q.key, q.qeAuth = point[1:], []byte("authentication")
	q.signature = rawSign(t, v.attKey, q.signed)
	q.qeReport = bytes.Clone(v.qe)
	bound := sha256.Sum256(append(bytes.Clone(q.key), q.qeAuth...))
	copy(q.qeReport[320:], bound[:])
	q.qeSigned = rawSign(t, v.pckKey, q.qeReport)
	for _, c := range []*x509.Certificate{v.pck, v.ca, v.root} {
		q.chain = append(q.chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return encode(q)
}

func bodyBytes(version uint16, b Body) (out []byte) {
	if version == 5 {
		kind, size := uint16(2), uint32(bodySize10)
		if b.Is15 {
			kind, size = 3, bodySize15
		}
		out = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(nil, kind), size)
	}
	return append(out, bytes.Join(b.fields(), nil)...)
}

// encode writes a quote, the other way of Parse.
func encode(q *Quote) []byte {
	certData := func(kind uint16, b []byte) []byte {
		return append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(nil, kind), uint32(len(b))), b...)
	}
	auth := append(binary.LittleEndian.AppendUint16(nil, uint16(len(q.qeAuth))), q.qeAuth...)
	qe := bytes.Join([][]byte{q.qeReport, q.qeSigned, auth, certData(certPCK, q.chain)}, nil)
	data := bytes.Join([][]byte{q.signature, q.key, certData(certQE, qe)}, nil)
	return bytes.Join([][]byte{q.signed, binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data, q.padding}, nil)
}

// list is a revocation list of one of the vendor's authorities.
func list(t testing.TB, issuer *x509.Certificate, key *ecdsa.PrivateKey, serials ...int64) []byte {
	l := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: forgedAt.AddDate(0, -1, 0), NextUpdate: forgedAt.AddDate(0, 1, 0)}
	for _, s := range serials {
		l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(s), RevocationTime: forgedAt})
	}
	return must[[]byte](t)(x509.CreateRevocationList(rand.Reader, l, issuer, key))
}

// statement signs one of Intel's statements.
func (v *vendor) statement(t testing.TB, name, body string) []byte {
	return fmt.Appendf(nil, `{%q:%s,"signature":"%x"}`, name, body, rawSign(t, v.signKey, []byte(body)))
}

const dates = `"issueDate":"2026-05-15T00:00:00Z","nextUpdate":"2026-06-15T00:00:00Z","tcbEvaluationDataNumber":19`

// components are sixteen of one version.
func components(svn int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"svn":%d},`, svn), 16), ",") + "]"
}

func tcbInfoText(platform, moduleStatus string) string {
	zeros := strings.Repeat("0", 96)
	module := `"mrsigner":"` + zeros + `","attributes":"0000000000000000","attributesMask":"FFFFFFFFFFFFFFFF"`
	return `{"id":"TDX","version":3,` + dates + `,"fmspc":"0A0B0C0D0E0F","pceId":"0000","tcbType":0,"tdxModule":{` + module + `},` +
		`"tdxModuleIdentities":[{"id":"TDX_01",` + module + `,"tcbLevels":[{"tcb":{"isvsvn":6},"tcbDate":"2025-05-14T00:00:00Z","tcbStatus":"` + moduleStatus + `"},` +
		`{"tcb":{"isvsvn":2},"tcbDate":"2024-05-14T00:00:00Z","tcbStatus":"OutOfDate","advisoryIDs":["INTEL-SA-1"]}]}],` +
		`"tcbLevels":[{"tcb":{"sgxtcbcomponents":` + components(7) + `,"pcesvn":13,"tdxtcbcomponents":` + components(3) + `},"tcbDate":"2025-05-14T00:00:00Z","tcbStatus":"` + platform + `"},` +
		`{"tcb":{"sgxtcbcomponents":` + components(5) + `,"pcesvn":5,"tdxtcbcomponents":` + components(1) + `},"tcbDate":"2024-05-14T00:00:00Z","tcbStatus":"OutOfDate","advisoryIDs":["INTEL-SA-2"]}]}`
}

func qeIdentityText(status string) string {
	return `{"id":"TD_QE","version":2,` + dates + `,"miscselect":"00000000","miscselectMask":"FFFFFFFF","attributes":"11000000000000000000000000000000",` +
		`"attributesMask":"FBFFFFFFFFFFFFFF0000000000000000","mrsigner":"` + fmt.Sprintf("%X", []byte(intelTDQE.Signer)) + `","isvprodid":2,` +
		`"tcbLevels":[{"tcb":{"isvsvn":4},"tcbDate":"2025-05-14T00:00:00Z","tcbStatus":"` + status + `"}]}`
}

// collateralOf is all that a careful policy needs.
func (v *vendor) collateralOf(t testing.TB, platform, module, qe string) evidence.Collateral {
	return evidence.Collateral{
		CRLs:       [][]byte{list(t, v.ca, v.caKey), list(t, v.root, v.rootKey)},
		TCBInfo:    v.statement(t, "tcbInfo", tcbInfoText(platform, module)),
		QEIdentity: v.statement(t, "enclaveIdentity", qeIdentityText(qe)),
	}
}

// sample is a body that a careful policy accepts.
func sample() Body {
	b := Body{Is15: true, TEETCBSVN: [16]byte{6, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, XFAM: [8]byte{0xe7}}
	b.MRTD[0], b.ReportData[0], b.MRSEAM[0], b.MRConfigID[0], b.MROwner[0], b.MROwnerConfig[0], b.MRServiceTD[0] = 1, 2, 3, 4, 5, 6, 7
	for i := range b.RTMR {
		b.RTMR[i][0] = byte(10 + i)
	}
	return b
}

func careful() evidence.Policy {
	b := sample()
	one := func(b []byte) []evidence.Hex { return []evidence.Hex{b} }
	return evidence.Policy{
		Now: forgedAt, Measurements: one(b.MRTD[:]), ReportData: b.ReportData[:],
		Tdx: evidence.TdxPolicy{
			MRSEAM: one(b.MRSEAM[:]), MRConfigID: one(b.MRConfigID[:]), MROwner: one(b.MROwner[:]), MROwnerConfig: one(b.MROwnerConfig[:]), MRServiceTD: one(b.MRServiceTD[:]),
			RTMR0: one(b.RTMR[0][:]), RTMR1: one(b.RTMR[1][:]), RTMR2: one(b.RTMR[2][:]), RTMR3: one(b.RTMR[3][:]),
			XFAM: b.XFAM[:], MinimumTEETCBSVN: b.TEETCBSVN[:], MinimumTCBEvaluation: 19,
		},
	}
}
