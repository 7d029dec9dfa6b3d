package sevsnp

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/evidencetest"
)

// Every version of the report, both keys, each product's layout of the TCB.
func TestVersionsKeysProducts(t *testing.T) {
	cpus := map[Product]CPU{Milan: {0x19, 1, 1}, Genoa: {0x19, 0x11, 1}, Turin: {0x1a, 2, 1}}
	for _, p := range []Product{Milan, Genoa, Turin} {
		for _, k := range []Key{VCEK, VLEK} {
			tcb, stored := TCB{BootLoader: 2, TEE: 3, SNP: 4, Microcode: 9}, [8]byte{2, 3, 0, 0, 0, 0, 4, 9}
			if p == Turin {
				tcb, stored = sampleTCB, sample().ReportedTCB
			}
			v := newVendor(t, p, k, tcb)
			for version := uint32(2); version <= 5; version++ {
				r := sample()
				r.Version, r.SigningKey, r.ReportedTCB, r.CPU = version, k, stored, cpus[p]
				policy := careful()
				policy.SevSnp.SigningKey, policy.SevSnp.Products, policy.SevSnp.MinimumTCB = "", []string{string(p)}, &tcb
				c := evidence.Collateral{Certificates: [][]byte{v.cert}, CRLs: [][]byte{v.list(t, forgedAt.AddDate(1, 0, 0))}}
				a := v.verifier().Verify(v.sign(t, r), c, policy)
				name := fmt.Sprintf("%s %s v%d", p, k, version)
				evidencetest.Want(t, name, a, bundle.Valid, "")
				if a.Claims != nil && (a.Claims.TCB["snp"] != 4 || len(a.Claims.TCB) != map[bool]int{true: 5, false: 4}[p == Turin]) {
					t.Errorf("%s: got %v", name, a.Claims.TCB)
				}
			}
		}
	}
}

// Each demand of the policy, not met by a report that is otherwise the sample.
func TestDemands(t *testing.T) {
	v := newVendor(t, Turin, VCEK, sampleTCB)
	c := evidence.Collateral{Certificates: [][]byte{v.cert}, CRLs: [][]byte{v.list(t, forgedAt.AddDate(1, 0, 0))}}
	evidencetest.Want(t, "sample", v.verifier().Verify(v.sign(t, sample()), c, careful()), bundle.Valid, "")
	for name, x := range map[string]struct {
		change func(*Report)
		policy func(*evidence.Policy)
		reason evidence.Reason
		only   string
	}{
		"debug":              {func(r *Report) { r.Policy |= 1 << policyDebug }, nil, evidence.Debug, "debug"},
		"migration":          {func(r *Report) { r.Policy |= 1 << policyMigrationAgent }, nil, evidence.Unmet, "migration"},
		"measurement":        {func(r *Report) { r.Measurement[47]++ }, nil, evidence.Measurement, "measurement"},
		"report_data":        {func(r *Report) { r.ReportData[63]++ }, nil, evidence.ReportData, "report_data"},
		"host_data":          {func(r *Report) { r.HostData[31]++ }, nil, evidence.HostData, "host_data"},
		"vmpl":               {func(r *Report) { r.VMPL = 1 }, nil, evidence.Unmet, "vmpl"},
		"family_id":          {func(r *Report) { r.FamilyID[15]++ }, nil, evidence.Unmet, "family_id"},
		"image_id":           {func(r *Report) { r.ImageID[15]++ }, nil, evidence.Unmet, "image_id"},
		"id_key_digest":      {func(r *Report) { r.IDKeyDigest[1]++ }, nil, evidence.Unmet, "id_key_digest"},
		"author_key_digest":  {func(r *Report) { r.AuthorKeyDigest[1]++ }, nil, evidence.Unmet, "author_key_digest"},
		"no author":          {func(r *Report) { r.AuthorKeyEn = false }, nil, evidence.Unmet, "author_key_digest"},
		"guest_svn":          {func(r *Report) { r.GuestSVN = 2 }, nil, evidence.Unmet, "guest_svn"},
		"firmware":           {func(r *Report) { r.Committed = Version{1, 58, 1} }, nil, evidence.TCB, "firmware"},
		"firmware's minor":   {func(r *Report) { r.Committed = Version{1, 57, 200} }, nil, evidence.TCB, "firmware"},
		"no_smt":             {func(r *Report) { r.Policy |= 1 << policySMT }, nil, evidence.Unmet, "no_smt"},
		"single_socket":      {func(r *Report) { r.Policy &^= 1 << policySingleSocket }, nil, evidence.Unmet, "single_socket"},
		"ciphertext_hiding":  {func(r *Report) { r.Policy &^= 1 << policyCiphertextHiding }, nil, evidence.Unmet, "ciphertext_hiding"},
		"aes_256_xts":        {func(r *Report) { r.Policy &^= 1 << policyAES256XTS }, nil, evidence.Unmet, "aes_256_xts"},
		"rapl_disabled":      {func(r *Report) { r.Policy &^= 1 << policyRAPLDisabled }, nil, evidence.Unmet, "rapl_disabled"},
		"page_swap_disabled": {func(r *Report) { r.Policy &^= 1 << policyPageSwapDisabled }, nil, evidence.Unmet, "page_swap_disabled"},
		"no_cxl":             {func(r *Report) { r.Policy |= 1 << policyCXL }, nil, evidence.Unmet, "no_cxl"},
		"memory_alias_check": {func(r *Report) { r.PlatformInfo = 0 }, nil, evidence.Unmet, "memory_alias_check"},
		"tcb":                {nil, func(p *evidence.Policy) { p.SevSnp.MinimumTCB = &TCB{FMC: 2} }, evidence.TCB, "tcb"},
		"chip_id":            {nil, func(p *evidence.Policy) { p.SevSnp.ChipIDs = []evidence.Hex{bytes.Repeat([]byte{1}, 64)} }, evidence.Unmet, "chip_id"},
		"product":            {nil, func(p *evidence.Policy) { p.SevSnp.Products = []string{"Milan", "Genoa"} }, evidence.Unmet, "product"},
		"signing_key":        {nil, func(p *evidence.Policy) { p.SevSnp.SigningKey = "vlek" }, evidence.Unmet, "signing_key"},
	} {
		r, p := sample(), careful()
		if x.change != nil {
			x.change(&r)
		}
		if x.policy != nil {
			x.policy(&p)
		}
		a := v.verifier().Verify(v.sign(t, r), c, p)
		evidencetest.Want(t, name, a, bundle.Invalid, x.reason)
		for _, k := range a.Checks {
			if (k.Status == bundle.Fail) != (k.Name == x.only) {
				t.Errorf("%s: check %s is %s: %s", name, k.Name, k.Status, k.Detail)
			}
		}
	}
}

// Reports that AMD's firmware doesn't make, validly signed.
func TestForms(t *testing.T) {
	v := newVendor(t, Turin, VCEK, sampleTCB)
	c := evidence.Collateral{Certificates: [][]byte{v.cert}}
	p := careful()
	p.Waived = []evidence.Waiver{evidence.NoRevocation}
	evidencetest.Want(t, "sample", v.verifier().Verify(v.sign(t, sample()), c, p), bundle.Valid, "")
	for name, x := range map[string]struct {
		change func(*Report)
		reason evidence.Reason
	}{
		"version 1":           {func(r *Report) { r.Version = 1 }, evidence.Unsupported},
		"version 6":           {func(r *Report) { r.Version = 6 }, evidence.Unsupported},
		"another algorithm":   {func(r *Report) { r.SignatureAlgo = 2 }, evidence.Algorithm},
		"signed by no key":    {func(r *Report) { r.SigningKey = 7 }, evidence.Unsupported},
		"a masked key":        {func(r *Report) { r.MaskChipKey = true }, evidence.Signature},
		"vmpl 4":              {func(r *Report) { r.VMPL = 4 }, evidence.Malformed},
		"policy bit 17":       {func(r *Report) { r.Policy &^= 1 << policyReservedOne }, evidence.Malformed},
		"policy bit 26":       {func(r *Report) { r.Policy |= 1 << policyBits }, evidence.Malformed},
		"a provider's key":    {func(r *Report) { r.SigningKey = VLEK }, evidence.KeyMismatch},
		"a processor of Zen3": {func(r *Report) { r.CPU = CPU{0x19, 1, 1} }, evidence.KeyMismatch},
		"an unknown one":      {func(r *Report) { r.CPU = CPU{0x1b, 1, 1} }, evidence.KeyMismatch},
		"another chip":        {func(r *Report) { r.ChipID[0] = 1 }, evidence.KeyMismatch},
		"another TCB":         {func(r *Report) { r.ReportedTCB[3]++ }, evidence.KeyMismatch},
		"a TCB's reserved":    {func(r *Report) { r.ReportedTCB[4] = 1 }, evidence.Malformed},
	} {
		r := sample()
		x.change(&r)
		a := v.verifier().Verify(v.sign(t, r), c, p)
		evidencetest.Want(t, name, a, bundle.Invalid, x.reason)
		if a.Claims != nil {
			t.Errorf("%s: claims of what isn't genuine", name)
		}
	}
}

func TestChainAndRevocation(t *testing.T) {
	v, other := newVendor(t, Turin, VCEK, sampleTCB), newVendor(t, Turin, VCEK, sampleTCB)
	report, next := v.sign(t, sample()), forgedAt.AddDate(0, 1, 0)
	certs := [][]byte{v.cert}
	for name, x := range map[string]struct {
		c       evidence.Collateral
		verdict bundle.Verdict
		reason  evidence.Reason
	}{
		"no certificate":           {evidence.Collateral{}, bundle.Incomplete, evidence.Missing},
		"no list":                  {evidence.Collateral{Certificates: certs}, bundle.Incomplete, evidence.Missing},
		"a list":                   {evidence.Collateral{Certificates: certs, CRLs: [][]byte{v.list(t, next)}}, bundle.Valid, ""},
		"of others":                {evidence.Collateral{Certificates: certs, CRLs: [][]byte{v.list(t, next, 8, 9)}}, bundle.Valid, ""},
		"the signing key is on it": {evidence.Collateral{Certificates: certs, CRLs: [][]byte{v.list(t, next, 9, 2)}}, bundle.Invalid, evidence.Revoked},
		"out of date":              {evidence.Collateral{Certificates: certs, CRLs: [][]byte{v.list(t, forgedAt.Add(-time.Hour))}}, bundle.Incomplete, evidence.Stale},
		"out of date, and on it":   {evidence.Collateral{Certificates: certs, CRLs: [][]byte{v.list(t, forgedAt.Add(-time.Hour), 2)}}, bundle.Invalid, evidence.Revoked},
		"on the older of two":      {evidence.Collateral{Certificates: certs, CRLs: [][]byte{v.list(t, next), v.list(t, forgedAt.Add(-time.Hour), 2)}}, bundle.Invalid, evidence.Revoked},
		"old and new":              {evidence.Collateral{Certificates: certs, CRLs: [][]byte{v.list(t, forgedAt.Add(-time.Hour)), v.list(t, next)}}, bundle.Valid, ""},
		"a list of a namesake":     {evidence.Collateral{Certificates: certs, CRLs: [][]byte{other.list(t, next)}}, bundle.Invalid, evidence.BadCollateral},
		"no list at all":           {evidence.Collateral{Certificates: certs, CRLs: [][]byte{[]byte("list")}}, bundle.Invalid, evidence.BadCollateral},
		"a namesake's key":         {evidence.Collateral{Certificates: [][]byte{other.cert}}, bundle.Invalid, evidence.Chain},
		"a namesake's chain":       {evidence.Collateral{Certificates: [][]byte{other.cert, other.line.ask.Raw, other.line.ark.Raw}}, bundle.Invalid, evidence.Chain},
		"a namesake's signing key": {evidence.Collateral{Certificates: [][]byte{v.cert, other.line.ask.Raw}}, bundle.Invalid, evidence.Chain},
		"a namesake's root":        {evidence.Collateral{Certificates: [][]byte{v.cert, other.line.ark.Raw}}, bundle.Invalid, evidence.Chain},
		"two signing keys":         {evidence.Collateral{Certificates: [][]byte{v.cert, v.line.ask.Raw, other.line.ask.Raw}}, bundle.Invalid, evidence.Chain},
		"its own chain":            {evidence.Collateral{Certificates: [][]byte{v.line.ark.Raw, v.line.ask.Raw, v.cert}, CRLs: [][]byte{v.list(t, next)}}, bundle.Valid, ""},
		"junk for a certificate":   {evidence.Collateral{Certificates: [][]byte{v.cert, []byte("cert")}}, bundle.Invalid, evidence.Chain},
		"also of another TCB": {evidence.Collateral{Certificates: [][]byte{v.certifyKey(t, newKey(t), TCB{FMC: 1}, make([]byte, 8)), v.cert},
			CRLs: [][]byte{v.list(t, next)}}, bundle.Valid, ""},
		"only of another TCB": {evidence.Collateral{Certificates: [][]byte{v.certifyKey(t, v.key, TCB{FMC: 1}, make([]byte, 8))}}, bundle.Invalid, evidence.KeyMismatch},
		"another key of it":   {evidence.Collateral{Certificates: [][]byte{v.certifyKey(t, newKey(t), sampleTCB, make([]byte, 8))}}, bundle.Invalid, evidence.Signature},
	} {
		evidencetest.Want(t, name, v.verifier().Verify(report, x.c, careful()), x.verdict, x.reason)
	}
}

// A chip's key that a made-up AMD certifies is nothing to AMD's own roots.
func TestBuiltInRoots(t *testing.T) {
	v := newVendor(t, Milan, VCEK, TCB{})
	r := sample()
	r.Version, r.ReportedTCB = 2, [8]byte{}
	c := evidence.Collateral{Certificates: [][]byte{v.cert, v.line.ask.Raw, v.line.ark.Raw}}
	a := Verifier{}.Verify(v.sign(t, r), c, careful())
	if err := a.Err(); a.Verdict != bundle.Invalid || !errors.Is(err, evidence.Chain) {
		t.Errorf("got %s, %v", a.Verdict, err)
	}
}

// What is built in holds together: each signing key under its root.
func TestBuiltInChains(t *testing.T) {
	all, err := lines()
	if err != nil || len(all) != 6 {
		t.Fatalf("got %d, %v", len(all), err)
	}
	for _, l := range all {
		if err := l.ask.CheckSignatureFrom(l.ark); err != nil {
			t.Errorf("%s %s: %v", l.product, l.key, err)
		}
		if err := l.ark.CheckSignatureFrom(l.ark); err != nil {
			t.Errorf("%s %s: the root: %v", l.product, l.key, err)
		}
	}
}
