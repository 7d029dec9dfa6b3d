package tdx

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/evidencetest"
)

func TestVersionsAndBodies(t *testing.T) {
	v := newVendor(t)
	c := v.collateralOf(t, "UpToDate", "UpToDate", "UpToDate")
	for _, x := range []struct {
		version uint16
		is15    bool
	}{{4, false}, {5, false}, {5, true}} {
		b, p := sample(), careful()
		if b.Is15 = x.is15; !x.is15 {
			b.MRServiceTD, p.Tdx.MRServiceTD = [48]byte{}, nil
		}
		a := v.verifier().Verify(v.quote(t, x.version, b), c, p)
		evidencetest.Want(t, fmt.Sprintf("%+v", x), a, bundle.Valid, "")
	}
}

// Each demand of the policy, not met by a quote that is otherwise the sample.
func TestDemands(t *testing.T) {
	v := newVendor(t)
	c := v.collateralOf(t, "UpToDate", "UpToDate", "UpToDate")
	for name, x := range map[string]struct {
		change func(*Body)
		reason evidence.Reason
		only   string
	}{
		"debug":                      {func(b *Body) { b.TDAttributes[0] = 1 }, evidence.Debug, "debug"},
		"debug's group":              {func(b *Body) { b.TDAttributes[0] = 0x80 }, evidence.Debug, "debug"},
		"migration":                  {func(b *Body) { b.TDAttributes[3] = 1 << 5 }, evidence.Unmet, "migration"},
		"measurement":                {func(b *Body) { b.MRTD[47]++ }, evidence.Measurement, "measurement"},
		"report_data":                {func(b *Body) { b.ReportData[63]++ }, evidence.ReportData, "report_data"},
		"tee_tcb_svn":                {func(b *Body) { b.TEETCBSVN[15]-- }, evidence.TCB, "tee_tcb_svn tcb"},
		"xfam":                       {func(b *Body) { b.XFAM[7] = 1 }, evidence.Unmet, "xfam"},
		"mr_seam":                    {func(b *Body) { b.MRSEAM[1]++ }, evidence.Measurement, "mr_seam"},
		"mr_config_id":               {func(b *Body) { b.MRConfigID[1]++ }, evidence.Measurement, "mr_config_id"},
		"mr_owner":                   {func(b *Body) { b.MROwner[1]++ }, evidence.Measurement, "mr_owner"},
		"mr_owner_config":            {func(b *Body) { b.MROwnerConfig[1]++ }, evidence.Measurement, "mr_owner_config"},
		"mr_service_td":              {func(b *Body) { b.MRServiceTD[1]++ }, evidence.Measurement, "mr_service_td"},
		"no service td":              {func(b *Body) { b.Is15 = false }, evidence.Unmet, "mr_service_td"},
		"rtmr0":                      {func(b *Body) { b.RTMR[0][1]++ }, evidence.Measurement, "rtmr0"},
		"rtmr1":                      {func(b *Body) { b.RTMR[1][1]++ }, evidence.Measurement, "rtmr1"},
		"rtmr2":                      {func(b *Body) { b.RTMR[2][1]++ }, evidence.Measurement, "rtmr2"},
		"rtmr3":                      {func(b *Body) { b.RTMR[3][1]++ }, evidence.Measurement, "rtmr3"},
		"a module of another signer": {func(b *Body) { b.MRSignerSEAM[0] = 1 }, evidence.Unmet, "module tcb"},
		"a module under debug":       {func(b *Body) { b.SEAMAttributes[0] = 1 }, evidence.Unmet, "module tcb"},
	} {
		b := sample()
		x.change(&b)
		a := v.verifier().Verify(v.quote(t, 5, b), c, careful())
		evidencetest.Want(t, name, a, bundle.Invalid, x.reason)
		for _, k := range a.Checks {
			if (k.Status == bundle.Fail) != strings.Contains(" "+x.only+" ", " "+k.Name+" ") {
				t.Errorf("%s: check %s is %s: %s", name, k.Name, k.Status, k.Detail)
			}
		}
	}
}

// Intel's verdicts on platform, module and enclave come together as Intel's own
// library has it.
func TestStatuses(t *testing.T) {
	v := newVendor(t)
	for _, x := range []struct {
		platform, module, qe, want string
		reason                     evidence.Reason
	}{
		{"UpToDate", "UpToDate", "UpToDate", "UpToDate", ""},
		{"SWHardeningNeeded", "UpToDate", "UpToDate", "SWHardeningNeeded", evidence.TCB},
		{"ConfigurationNeeded", "UpToDate", "UpToDate", "ConfigurationNeeded", evidence.TCB},
		{"UpToDate", "OutOfDate", "UpToDate", "OutOfDate", evidence.TCB},
		{"UpToDate", "UpToDate", "OutOfDate", "OutOfDate", evidence.TCB},
		{"ConfigurationNeeded", "OutOfDate", "UpToDate", "OutOfDateConfigurationNeeded", evidence.TCB},
		{"ConfigurationAndSWHardeningNeeded", "UpToDate", "OutOfDate", "OutOfDateConfigurationNeeded", evidence.TCB},
		{"OutOfDate", "OutOfDate", "OutOfDate", "OutOfDate", evidence.TCB},
		{"Revoked", "UpToDate", "UpToDate", "Revoked", evidence.Revoked},
		{"UpToDate", "Revoked", "UpToDate", "Revoked", evidence.Revoked},
		{"UpToDate", "UpToDate", "Revoked", "Revoked", evidence.Revoked},
		{"UpToDate", "NotThoughtOfYet", "UpToDate", "NotThoughtOfYet", evidence.TCB},
	} {
		quote, c, p := v.quote(t, 5, sample()), v.collateralOf(t, x.platform, x.module, x.qe), careful()
		a := v.verifier().Verify(quote, c, p)
		verdict := bundle.Invalid
		if x.reason == "" {
			verdict = bundle.Valid
		}
		evidencetest.Want(t, fmt.Sprint(x), a, verdict, x.reason)
		if !strings.Contains(fmt.Sprint(a.Checks), x.want) {
			t.Errorf("%v: nothing says %s", x, x.want)
		}
		p.Tdx.AcceptedTCBStatus = []string{x.want}
		if a := v.verifier().Verify(quote, c, p); (a.Verdict == bundle.Valid) != (x.want != "Revoked") {
			t.Errorf("%v: accepted by name: got %s, %v", x, a.Verdict, a.Err())
		}
	}
}

// A platform, a module or an enclave below a level falls to the next, or off.
func TestLevels(t *testing.T) {
	v := newVendor(t)
	c := v.collateralOf(t, "UpToDate", "UpToDate", "UpToDate")
	for name, x := range map[string]struct {
		svn  [16]byte
		says string
	}{
		"an old module":                  {[16]byte{5, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, "OutOfDate [INTEL-SA-1]"},
		"an older one":                   {[16]byte{1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, "below every security version that Intel lists for TDX_01"},
		"a module that nobody lists":     {[16]byte{6, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, "no TDX module TDX_02"},
		"a component":                    {[16]byte{6, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2}, "OutOfDate [INTEL-SA-2]"},
		"a component below all":          {[16]byte{6, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0}, "below every security version"},
		"the first generation, complete": {[16]byte{3, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, "below every security version"}, // byte 1 is the platform's then
	} {
		b, p := sample(), careful()
		b.TEETCBSVN, p.Tdx.MinimumTEETCBSVN = x.svn, nil
		a := v.verifier().Verify(v.quote(t, 5, b), c, p)
		evidencetest.Want(t, name, a, bundle.Invalid, evidence.TCB)
		if !strings.Contains(fmt.Sprint(a.Err()), x.says) {
			t.Errorf("%s: got %v, want it to say %q", name, a.Err(), x.says)
		}
	}
	binarySVN := v.qe[258]
	v.qe[258] = 3
	a := v.verifier().Verify(v.quote(t, 5, sample()), c, careful())
	evidencetest.Want(t, "an old enclave", a, bundle.Invalid, evidence.TCB)
	v.qe[258] = binarySVN
}

func TestChainAndCollateral(t *testing.T) {
	v, other := newVendor(t), newVendor(t)
	full := func(change func(*evidence.Collateral)) evidence.Collateral {
		c := v.collateralOf(t, "UpToDate", "UpToDate", "UpToDate")
		change(&c)
		return c
	}
	text := tcbInfoText("UpToDate", "UpToDate")
	for name, x := range map[string]struct {
		c       evidence.Collateral
		verdict bundle.Verdict
		reason  evidence.Reason
	}{
		"all of it":              {full(func(*evidence.Collateral) {}), bundle.Valid, ""},
		"no list":                {full(func(c *evidence.Collateral) { c.CRLs = nil }), bundle.Incomplete, evidence.Missing},
		"one list":               {full(func(c *evidence.Collateral) { c.CRLs = c.CRLs[:1] }), bundle.Incomplete, evidence.Missing},
		"the PCK is revoked":     {full(func(c *evidence.Collateral) { c.CRLs[0] = list(t, v.ca, v.caKey, 3) }), bundle.Invalid, evidence.Revoked},
		"its CA is revoked":      {full(func(c *evidence.Collateral) { c.CRLs[1] = list(t, v.root, v.rootKey, 2) }), bundle.Invalid, evidence.Revoked},
		"a namesake's list":      {full(func(c *evidence.Collateral) { c.CRLs[0] = list(t, other.ca, other.caKey) }), bundle.Invalid, evidence.BadCollateral},
		"no TCB info":            {full(func(c *evidence.Collateral) { c.TCBInfo = nil }), bundle.Incomplete, evidence.Missing},
		"no QE identity":         {full(func(c *evidence.Collateral) { c.QEIdentity = nil }), bundle.Incomplete, evidence.Missing},
		"a namesake's TCB info":  {full(func(c *evidence.Collateral) { c.TCBInfo = other.statement(t, "tcbInfo", text) }), bundle.Invalid, evidence.BadCollateral},
		"its certificate too":    {full(func(c *evidence.Collateral) { c.Certificates = [][]byte{other.signing.Raw} }), bundle.Invalid, evidence.BadCollateral},
		"the certificate itself": {full(func(c *evidence.Collateral) { c.Certificates = [][]byte{v.root.Raw, v.signing.Raw} }), bundle.Valid, ""},
		"signed by the PCK's CA": {full(func(c *evidence.Collateral) {
			c.Certificates = [][]byte{certify(t, entity(signingName, 9), v.ca, v.signKey, v.caKey).Raw}
		}), bundle.Invalid, evidence.BadCollateral},
		"TCB info of SGX": {full(func(c *evidence.Collateral) {
			c.TCBInfo = v.statement(t, "tcbInfo", strings.Replace(text, "TDX", "SGX", 1))
		}), bundle.Invalid, evidence.BadCollateral},
		"TCB info of others": {full(func(c *evidence.Collateral) {
			c.TCBInfo = v.statement(t, "tcbInfo", strings.Replace(text, "0A0B", "0B0B", 1))
		}), bundle.Incomplete, evidence.Missing},
		"identity for TCB info": {full(func(c *evidence.Collateral) { c.TCBInfo = c.QEIdentity }), bundle.Invalid, evidence.BadCollateral},
		"another enclave's identity": {full(func(c *evidence.Collateral) {
			c.QEIdentity = v.statement(t, "enclaveIdentity", strings.Replace(qeIdentityText("UpToDate"), `"isvprodid":2`, `"isvprodid":1`, 1))
		}), bundle.Invalid, evidence.KeyMismatch},
		"more than is signed": {full(func(c *evidence.Collateral) { c.TCBInfo = append(c.TCBInfo[:len(c.TCBInfo)-1], `,"x":1}`...) }), bundle.Invalid, evidence.BadCollateral},
		"tomorrow's statement": {full(func(c *evidence.Collateral) {
			c.TCBInfo = v.statement(t, "tcbInfo", strings.Replace(text, "2026-05-15", "2026-06-02", 1))
		}), bundle.Incomplete, evidence.Stale},
	} {
		evidencetest.Want(t, name, v.verifier().Verify(v.quote(t, 5, sample()), x.c, careful()), x.verdict, x.reason)
	}
}

// Quotes whose chain of vouching is broken in one place.
func TestNotGenuine(t *testing.T) {
	other := newVendor(t)
	for name, x := range map[string]struct {
		change func(*vendor)
		reason evidence.Reason
	}{
		"another root":               {func(v *vendor) { v.root = other.root }, evidence.Chain},
		"another CA":                 {func(v *vendor) { v.ca = other.ca }, evidence.Chain},
		"another PCK":                {func(v *vendor) { v.pck = other.pck }, evidence.Chain},
		"the PCK of another machine": {func(v *vendor) { v.pckKey = other.pckKey }, evidence.Signature},
		"an enclave of others":       {func(v *vendor) { v.qe[128]++ }, evidence.KeyMismatch},
		"another enclave of Intel":   {func(v *vendor) { v.qe[256] = 1 }, evidence.KeyMismatch},
		"an enclave under debug":     {func(v *vendor) { v.qe[48] |= 2 }, evidence.KeyMismatch},
		"the statements' key for a PCK": {func(v *vendor) {
			v.pck, v.pckKey = certify(t, entity(signingName, 4), v.ca, v.signKey, v.caKey), v.signKey
		}, evidence.Chain},
		"a PCK without the extension": {func(v *vendor) {
			v.pck = certify(t, entity("Intel SGX PCK Certificate", 3), v.ca, v.pckKey, v.caKey)
		}, evidence.Chain},
	} {
		v := newVendor(t)
		trusted := v.root
		x.change(v)
		verifier := Verifier{anchors: func() (*anchors, error) { return &anchors{trusted, []*x509.Certificate{v.signing}}, nil }}
		a := verifier.Verify(v.quote(t, 5, sample()), evidence.Collateral{}, careful())
		evidencetest.Want(t, name, a, bundle.Invalid, x.reason)
		if a.Claims != nil {
			t.Errorf("%s: claims of what isn't genuine", name)
		}
	}
}

// Bytes behind a quote, and forms that aren't a quote's.
func TestForms(t *testing.T) {
	v := newVendor(t)
	quote, c := v.quote(t, 5, sample()), v.collateralOf(t, "UpToDate", "UpToDate", "UpToDate")
	edit := func(at int, b byte) []byte {
		q := bytes.Clone(quote)
		q[at] = b
		return q
	}
	for name, x := range map[string]struct {
		quote   []byte
		verdict bundle.Verdict
		reason  evidence.Reason
	}{
		"padded":             {append(bytes.Clone(quote), make([]byte, 1000)...), bundle.Valid, ""},
		"padded beyond":      {append(bytes.Clone(quote), make([]byte, maxQuote)...), bundle.Invalid, evidence.Malformed},
		"a byte more":        {append(bytes.Clone(quote), 0, 0, 1), bundle.Invalid, evidence.Trailing},
		"two quotes":         {append(bytes.Clone(quote), quote...), bundle.Invalid, evidence.Trailing},
		"version 3":          {edit(0, 3), bundle.Invalid, evidence.Unsupported},
		"a key of P-384":     {edit(2, 3), bundle.Invalid, evidence.Algorithm},
		"another enclave":    {edit(12, 0), bundle.Invalid, evidence.Unsupported},
		"version 4 of 5":     {edit(0, 4), bundle.Invalid, evidence.Malformed},
		"body of an enclave": {edit(48, 1), bundle.Invalid, evidence.Unsupported},
		"type without size":  {edit(48, 2), bundle.Invalid, evidence.Unsupported},
	} {
		a := v.verifier().Verify(x.quote, c, careful())
		if a.Verdict != x.verdict {
			t.Errorf("%s: got %s, %v, want %s", name, a.Verdict, a.Err(), x.verdict)
		}
		if name != "version 4 of 5" {
			evidencetest.Want(t, name, a, x.verdict, x.reason)
		}
	}
	late := careful()
	late.Now = forgedAt.Add(3 * 365 * 24 * time.Hour)
	evidencetest.Want(t, "years later", v.verifier().Verify(quote, c, late), bundle.Invalid, evidence.Expired)
}
