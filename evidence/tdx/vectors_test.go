package tdx

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/evidencetest"
	"github.com/joulebox/joulebox/evidence/internal/pki"
	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "05-tee"

// expected is tdx/expected.json: whatever cases and mutations it lists are judged.
type expected struct {
	Cases []struct {
		Case    string
		Checked map[string]any `json:"checked_here"`
	}
	Mutations []struct {
		Name, File string
		Offset     *int
		XOR        byte
		Truncate   *int
		AppendHex  vectors.Hex `json:"append_hex"`
		Splice     *struct {
			From, Into     string
			Offset, Length int
		}
	}
}

func loadExpected(t testing.TB) (e expected) {
	t.Helper()
	vectors.Load(t, group, "tdx/expected.json", &e)
	return e
}

func read(t testing.TB, name string) []byte { return vectors.Read(t, group, "tdx/"+name) }

// aCase is a case that ends as a genuine quote, and the quote alone, without what
// somebody put behind it.
type aCase struct {
	evidencetest.Good
	fields map[string]any
	as     []byte // as it was handed in
}

// cases are all cases that are quotes of TDX, each under a policy that states all
// of it but the TCB.
func cases(t testing.TB) (all []aCase) {
	t.Helper()
	for _, c := range loadExpected(t).Cases {
		f := c.Checked
		if f["tee_type"] != "0x81" {
			continue
		}
		b := read(t, c.Case+"/quote.bin")
		trailing := int(f["trailing_bytes"].(float64))
		expires, err := time.Parse(time.RFC3339, f["pck_not_after"].(string))
		if err != nil {
			t.Fatal(err)
		}
		g := evidencetest.Good{Name: c.Case, Report: b[:len(b)-trailing], Policy: evidence.Policy{
			Now:          expires.AddDate(0, -1, 0),
			Measurements: []evidence.Hex{unhex(t, f["mr_td"])},
			ReportData:   unhex(t, f["report_data"]),
			AllowDebug:   f["debug"].(bool),
			Waived:       []evidence.Waiver{evidence.AnyTCB, evidence.NoRevocation},
			Tdx:          evidence.TdxPolicy{MRSEAM: []evidence.Hex{unhex(t, f["mr_seam"])}, RTMR0: []evidence.Hex{unhex(t, f["rtmr0"])}, XFAM: unhex(t, f["xfam"])},
		}}
		all = append(all, aCase{g, f, b})
	}
	vectors.AtLeast(t, "TDX quotes", len(all), 5)
	return all
}

func unhex(t testing.TB, v any) evidence.Hex {
	t.Helper()
	var h evidence.Hex
	if err := h.UnmarshalText([]byte(v.(string))); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestVectorsSuite(t *testing.T) {
	var goods []evidencetest.Good
	for _, c := range cases(t) {
		goods = append(goods, c.Good)
	}
	evidencetest.Suite(t, Verifier{}, goods)
}

// Every field of every quote is the one that was listed.
func TestVectorsFields(t *testing.T) {
	judged := 0
	for _, c := range cases(t) {
		a := Verifier{}.Verify(c.Report, c.Collateral, c.Policy)
		if a.Claims == nil {
			t.Fatal(c.Name, a.Err())
		}
		got := a.Claims.Details
		got["report_data"], got["qe_isvsvn"] = a.Claims.ReportData.String(), got["qe_svn"]
		for _, name := range []string{"version", "tee_tcb_svn", "mr_seam", "mrsigner_seam", "td_attributes", "xfam", "mr_td", "mr_config_id", "mr_owner",
			"mr_owner_config", "rtmr0", "rtmr1", "rtmr2", "rtmr3", "report_data", "fmspc", "qe_isvsvn"} {
			judged++
			if want := fmt.Sprint(c.fields[name]); got[name] != want {
				t.Errorf("%s: %s: got %s, want %s", c.Name, name, got[name], want)
			}
		}
	}
	vectors.AtLeast(t, "fields", judged, 5*17)
}

// Every case as it was handed in: what follows it, whether it can be debugged,
// and whether it is a quote of TDX at all.
func TestVectorsAsHandedIn(t *testing.T) {
	kinds := map[string]int{}
	for _, c := range cases(t) {
		tail := c.as[len(c.Report):]
		a := Verifier{}.Verify(c.as, c.Collateral, c.Policy)
		if len(bytes.Trim(tail, "\x00")) == 0 {
			kinds["padded with zeros or nothing"]++
			evidencetest.Want(t, c.Name, a, bundle.Valid, "")
		} else {
			kinds["followed by something else"]++
			evidencetest.Want(t, c.Name, a, bundle.Invalid, evidence.Trailing)
			p := c.Policy
			p.Tdx.IgnoreUnsignedTrailingBytes = true
			evidencetest.Want(t, c.Name, Verifier{}.Verify(c.as, c.Collateral, p), bundle.Valid, "")
		}
		if c.fields["debug"].(bool) {
			kinds["under debug"]++
			p := c.Policy
			p.AllowDebug = false
			evidencetest.Want(t, c.Name, Verifier{}.Verify(c.Report, c.Collateral, p), bundle.Invalid, evidence.Debug)
		}
		kinds[fmt.Sprintf("version %v", c.fields["version"])]++
	}
	for _, c := range loadExpected(t).Cases {
		if c.Checked["tee_type"] != "0x81" {
			kinds["of SGX"]++
			a := Verifier{}.Verify(read(t, c.Case+"/quote.bin"), evidence.Collateral{}, cases(t)[0].Policy)
			evidencetest.Want(t, c.Case, a, bundle.Invalid, evidence.Unsupported)
		}
	}
	for kind, least := range map[string]int{"padded with zeros or nothing": 4, "followed by something else": 1, "under debug": 1, "of SGX": 1, "version 4": 4, "version 5": 1} {
		vectors.AtLeast(t, "quotes "+kind, kinds[kind], least)
	}
}

func TestVectorsMutations(t *testing.T) {
	e := loadExpected(t)
	policies := map[string]aCase{}
	for _, c := range cases(t) {
		policies[c.Name+"/quote.bin"] = c
	}
	for _, m := range e.Mutations {
		file := m.File
		if m.Splice != nil {
			file = m.Splice.Into
		}
		c := policies[file]
		quote := bytes.Clone(read(t, file))
		want := evidence.Reason("")
		switch {
		case m.Truncate != nil:
			quote, want = quote[:*m.Truncate], evidence.Truncated
		case m.Splice != nil:
			from := read(t, m.Splice.From)
			copy(quote[m.Splice.Offset:m.Splice.Offset+m.Splice.Length], from[m.Splice.Offset:])
		case m.Offset != nil:
			quote[*m.Offset] ^= m.XOR
		default:
			quote = append(quote, m.AppendHex...)
		}
		p := c.Policy
		p.Tdx.IgnoreUnsignedTrailingBytes = true // which isn't what is judged here
		a := Verifier{}.Verify(quote, c.Collateral, p)
		evidencetest.Want(t, m.Name, a, bundle.Invalid, want)
		t.Logf("%s: %v", m.Name, a.Err())
	}
	vectors.AtLeast(t, "mutations", len(e.Mutations), 13)
}

// No byte of a quote can change, its certificates and its padding among them.
func TestVectorsEveryByteCounts(t *testing.T) {
	for _, c := range cases(t) {
		quote := c.as
		if Verifier.Verify(Verifier{}, quote, c.Collateral, c.Policy).Verdict != bundle.Valid {
			quote = c.Report
		}
		evidencetest.Flip(t, c.Name, quote, nil, func(b []byte) bool {
			return Verifier{}.Verify(b, c.Collateral, c.Policy).Verdict != bundle.Invalid
		})
	}
}

// collateral reads what stands beside a case, in either of the two forms.
func collateral(t testing.TB, name string) (c evidence.Collateral, ok bool) {
	t.Helper()
	dir := filepath.Join(vectors.Dir(t, group), "tdx", name, "collateral")
	file := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return b
	}
	c = evidence.Collateral{TCBInfo: file("tcbinfo.json"), QEIdentity: file("qeidentity.json")}
	for _, list := range []string{"pckcrl.der", "rootcrl.der"} {
		if b := file(list); b != nil {
			c.CRLs = append(c.CRLs, b)
		}
	}
	var one map[string]string
	if b := file("collateral.json"); b != nil {
		if err := json.Unmarshal(b, &one); err != nil {
			t.Fatal(err)
		}
		c.TCBInfo = fmt.Appendf(nil, `{"tcbInfo":%s,"signature":%q}`, one["tcb_info"], one["tcb_info_signature"])
		c.QEIdentity = fmt.Appendf(nil, `{"enclaveIdentity":%s,"signature":%q}`, one["qe_identity"], one["qe_identity_signature"])
		c.CRLs = [][]byte{unhex(t, one["pck_crl"]), unhex(t, one["root_ca_crl"])}
		ders, err := pki.File([]byte(one["tcb_info_issuer_chain"]))
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = ders
	}
	return c, c.TCBInfo != nil
}

// issued is the time of a case's TCB info.
func issued(t testing.TB, c evidence.Collateral) time.Time {
	t.Helper()
	var s struct {
		TCBInfo struct {
			IssueDate time.Time `json:"issueDate"`
		} `json:"tcbInfo"`
	}
	if err := json.Unmarshal(c.TCBInfo, &s); err != nil {
		t.Fatal(err)
	}
	return s.TCBInfo.IssueDate
}

// Each case with the collateral of its day, nothing waived.
func TestVectorsCollateral(t *testing.T) {
	judged, forged := 0, false
	want := map[string]struct {
		verdict bundle.Verdict
		reason  evidence.Reason
		says    string
	}{
		"v4-chutes":     {bundle.Valid, "", "UpToDate"},
		"v4-phala":      {bundle.Valid, "", "UpToDate"},
		"v4-google-spr": {bundle.Invalid, evidence.TCB, "below every security version"}, // the sample's own collateral is of another platform state
		"v5-google":     {bundle.Incomplete, evidence.Missing, ""},                      // its QE identity and lists weren't kept
	}
	for _, c := range cases(t) {
		with, ok := collateral(t, c.Name)
		if !ok {
			continue
		}
		judged++
		p := c.Policy
		p.Now, p.Waived = issued(t, with).Add(time.Hour), nil
		a := Verifier{}.Verify(c.Report, with, p)
		for _, k := range a.Checks {
			t.Logf("%s: %-14s %-7s %s", c.Name, k.Name, k.Status, k.Detail)
		}
		w, known := want[c.Name]
		if !known {
			continue // of a day and a platform that nobody here knows
		}
		evidencetest.Want(t, c.Name, a, w.verdict, w.reason)
		if !strings.Contains(fmt.Sprint(a.Checks), w.says) {
			t.Errorf("%s: nothing says %q", c.Name, w.says)
		}
		if w.verdict == bundle.Valid {
			stale(t, c, with, p)
			if !forged {
				forge(t, c, with, p)
				forged = true
			}
		}
	}
	vectors.AtLeast(t, "quotes with collateral", judged, 4)
}

// stale wants a case's collateral refused at another time.
func stale(t *testing.T, c aCase, with evidence.Collateral, p evidence.Policy) {
	t.Helper()
	late := p
	late.Now = p.Now.AddDate(0, 2, 0)
	evidencetest.Want(t, c.Name+", late", Verifier{}.Verify(c.Report, with, late), bundle.Incomplete, evidence.Stale)
	fresh := p
	fresh.Tdx.MinimumTCBEvaluation = 1000
	evidencetest.Want(t, c.Name+", of an old evaluation", Verifier{}.Verify(c.Report, with, fresh), bundle.Incomplete, evidence.Stale)
}

// forge wants a case's collateral refused when any byte of it changes.
func forge(t *testing.T, c aCase, with evidence.Collateral, p evidence.Policy) {
	t.Helper()
	if testing.Short() {
		t.Log("collateral isn't changed byte by byte: -short was asked for")
		return
	}
	for what, field := range map[string]func(*evidence.Collateral) *[]byte{
		"TCB info":    func(c *evidence.Collateral) *[]byte { return &c.TCBInfo },
		"QE identity": func(c *evidence.Collateral) *[]byte { return &c.QEIdentity },
		"PCK's list":  func(c *evidence.Collateral) *[]byte { return &c.CRLs[0] },
		"root's list": func(c *evidence.Collateral) *[]byte { return &c.CRLs[1] },
	} {
		one := with
		one.CRLs = append([][]byte{}, with.CRLs...)
		evidencetest.Flip(t, c.Name+", "+what, *field(&with), nil, func(b []byte) bool {
			*field(&one) = b
			return Verifier{}.Verify(c.Report, one, p).Verdict == bundle.Valid
		})
	}
}

// The files that stand beside the cases are all somebody's.
func TestVectorsCovered(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range loadExpected(t).Cases {
		listed[c.Case] = true
	}
	dirs, err := os.ReadDir(filepath.Join(vectors.Dir(t, group), "tdx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && !listed[d.Name()] {
			t.Errorf("no case judges %s", d.Name())
		}
	}
	root, err := pki.File(read(t, "intel_sgx_root_ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := intel(); err != nil || !bytes.Equal(a.root.Raw, root[0]) {
		t.Errorf("Intel's root isn't the built-in one: %v", err)
	}
}
