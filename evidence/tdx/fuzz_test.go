package tdx

import (
	"bytes"
	"crypto/x509"
	"testing"

	"github.com/google/go-tdx-guest/abi"
	pb "github.com/google/go-tdx-guest/proto/tdx"
	"github.com/google/go-tdx-guest/verify"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/internal/vectors"
)

// What parses is written as the same bytes.
func FuzzParse(f *testing.F) {
	v := newVendor(f)
	b := sample()
	f.Add(v.quote(f, 5, b))
	b.Is15 = false
	f.Add(v.quote(f, 4, b))
	f.Add(append(v.quote(f, 5, b), 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := Parse(b)
		if err != nil {
			return
		}
		if again := encode(q); !bytes.Equal(again, b) {
			t.Errorf("got %x, want %x", again, b)
		}
		if body := bodyBytes(q.Version, q.Body); !bytes.Equal(body, q.signed[headerSize:]) {
			t.Errorf("body: got %x, want %x", body, q.signed[headerSize:])
		}
	})
}

// Nothing that a stranger hands in is accepted, and nothing panics.
func FuzzVerify(f *testing.F) {
	v := newVendor(f)
	c := v.collateralOf(f, "UpToDate", "UpToDate", "UpToDate")
	quote := v.quote(f, 5, sample())
	f.Add(quote, c.TCBInfo, c.QEIdentity, c.CRLs[0])
	f.Fuzz(func(t *testing.T, quote, info, id, list []byte) {
		c := evidence.Collateral{TCBInfo: info, QEIdentity: id, CRLs: [][]byte{list}}
		if a := (Verifier{}).Verify(quote, c, careful()); a.Verdict == bundle.Valid {
			t.Errorf("accepted: %+v", a)
		}
	})
}

// FuzzStatement goes behind the signature, where only Intel's bytes come.
func FuzzStatement(f *testing.F) {
	v := newVendor(f)
	f.Add(tcbInfoText("UpToDate", "UpToDate"), qeIdentityText("UpToDate"))
	f.Fuzz(func(t *testing.T, info, id string) {
		var i tcbInfo
		var q qeIdentity
		b := sample()
		p := &platform{fmspc: []byte{10, 11, 12, 13, 14, 15}, pceID: []byte{0, 0}, pceSVN: 13}
		if readStatement(v.statement(t, "tcbInfo", info), "tcbInfo", v.signing, &i) == nil {
			i.verdict(p, &b)
		}
		if readStatement(v.statement(t, "enclaveIdentity", id), "enclaveIdentity", v.signing, &q) == nil {
			e := readEnclave(v.qe)
			if q.matches(e) == nil {
				q.verdict(&verdict{}, e)
			}
		}
	})
}

// An independent verifier and this one agree on each quote of the version that
// both read, and on each with one byte of what is signed changed.
func TestOracle(t *testing.T) {
	judged := 0
	intel := must[*anchors](t)(intel())
	for _, c := range cases(t) {
		if c.fields["version"].(float64) != 4 {
			continue
		}
		for at := -1; at < 1200; at += 37 {
			quote := bytes.Clone(c.Report)
			if at >= 0 {
				quote[at] ^= 0x10
			}
			p := c.Policy
			p.AllowDebug, p.Measurements, p.ReportData, p.Tdx = true, nil, nil, evidence.TdxPolicy{}
			p.Waived = []evidence.Waiver{evidence.AnyMeasurement, evidence.AnyReportData, evidence.AnyTCB, evidence.NoRevocation}
			ours := Verifier{}.Verify(quote, c.Collateral, p).Verdict == bundle.Valid
			theirs := oracle(intel.root, quote, p)
			if judged++; ours != (theirs == nil) || ours != (at < 0) {
				t.Errorf("%s, byte %d: we say %t, the oracle %v", c.Name, at, ours, theirs)
			}
		}
	}
	vectors.AtLeast(t, "quotes beside the oracle", judged, 4*30)
}

func oracle(root *x509.Certificate, quote []byte, p evidence.Policy) error {
	parsed, err := abi.QuoteToProto(quote)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return verify.TdxQuote(parsed.(*pb.QuoteV4), &verify.Options{Now: p.Now, TrustedRoots: roots})
}

func BenchmarkVerify(b *testing.B) {
	c := cases(b)[0]
	for b.Loop() {
		if a := (Verifier{}).Verify(c.Report, c.Collateral, c.Policy); a.Verdict != bundle.Valid {
			b.Fatal(a.Err())
		}
	}
}
