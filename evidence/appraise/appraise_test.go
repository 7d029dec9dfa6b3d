package appraise

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json/v2"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	oracle "github.com/go-jose/go-jose/v4"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "05-tee"

func TestVerifiers(t *testing.T) {
	for _, k := range evidence.Kinds() {
		if v, err := Verifier(k); err != nil || v.Kind() != k {
			t.Errorf("%s: got %v, %v", k, v, err)
		}
	}
	if len(verifiers) != len(evidence.Kinds()) {
		t.Errorf("got %d verifiers, want one for each of %v", len(verifiers), evidence.Kinds())
	}
	if _, err := Verifier("nitro"); err == nil {
		t.Error("a verifier for another kind")
	}
}

func folder(t testing.TB, name string) *Folder {
	t.Helper()
	f, err := ReadFolder(filepath.Join(vectors.Dir(t, group), name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The folders of the vectors are read as they lie there, and lead each case to
// its end.
func TestVectorsFolders(t *testing.T) {
	waive := []evidence.Waiver{evidence.AnyMeasurement, evidence.AnyReportData, evidence.AnyTCB, evidence.NoRevocation}
	strict := waive[:2]
	for _, x := range []struct {
		kind   evidence.Kind
		report string
		dir    string
		now    string
		waived []evidence.Waiver
	}{
		{evidence.SevSnp, "snp/milan-v2-trustee/report.bin", "snp/milan-v2-trustee", "2025-01-01T00:00:00Z", waive},
		{evidence.SevSnp, "snp/milan-v3-vlek-trustee/report.bin", "snp/milan-v3-vlek-trustee", "2025-06-01T00:00:00Z", waive},
		{evidence.Tdx, "tdx/v4-chutes/quote.bin", "tdx/v4-chutes/collateral", "2026-05-21T00:00:00Z", strict},
		{evidence.Tdx, "tdx/v4-phala/quote.bin", "tdx/v4-phala/collateral", "2025-06-20T00:00:00Z", strict},
		{evidence.NvidiaGPU, "gpu/h100-1gpu-tinfoil/eat.json", "gpu/h100-1gpu-tinfoil", "2026-06-29T02:10:00Z", strict},
	} {
		v, err := Verifier(x.kind)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, x.now)
		if err != nil {
			t.Fatal(err)
		}
		a := v.Verify(vectors.Read(t, group, x.report), folder(t, x.dir).Collateral, evidence.Policy{Now: now, Waived: x.waived})
		if a.Verdict != bundle.Valid {
			t.Errorf("%s: got %s: %v", x.report, a.Verdict, a.Err())
		}
	}
	f := folder(t, "snp/milan-v2-trustee")
	if !slices.Equal(f.Used, []string{"vcek.der"}) || !slices.Equal(f.Ignored, []string{"report.bin"}) {
		t.Errorf("got %v used, %v ignored", f.Used, f.Ignored)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("one")}))
	write("chain.pem", "about\n"+cert+cert)
	write("root-ca.pem", cert)
	write("leaf.der", "two")
	write("jwks.json", `{"keys":[]}`)
	write("tokens.json", `[]`)
	write("other.json", `{}`)
	write("notes.txt", "x")
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Certificates) != 3 || len(f.Roots) != 1 || f.JWKS == nil || len(f.Used) != 4 || len(f.Ignored) != 3 {
		t.Errorf("got %+v", f)
	}
	for name, text := range map[string]string{
		"second.json": `{"keys":[1]}`,
		"broken.json": `{"keys":`,
		"key.pem":     string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})),
		"cut.pem":     cert + cert[:40],
	} {
		write(name, text)
		if _, err := ReadFolder(dir); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadFolder(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: got %v", err)
	}
}

// In a bundle the report data is the run's, whatever the policy says or waives.
func TestBundle(t *testing.T) {
	report := vectors.Read(t, group, "snp/milan-v2-trustee/report.bin")
	e := &bundle.Evidence{Kind: attestation.SevSnp, Report: report, Chain: [][]byte{vectors.Read(t, group, "snp/milan-v2-trustee/vcek.der")}}
	policy := evidence.Policy{Now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), ReportData: make([]byte, 64),
		Waived: []evidence.Waiver{evidence.AnyMeasurement, evidence.AnyReportData, evidence.AnyTCB, evidence.NoRevocation}}
	failed := func(data [64]byte) (names []string, says *attestation.TEE) {
		checks, says := Bundle(evidence.Collateral{}, policy)(e, data)
		for _, c := range checks {
			if c.Status == bundle.Fail {
				names = append(names, c.Name)
			}
		}
		return names, says
	}
	names, says := failed([64]byte(report[80:144]))
	want := map[string]uint64{"boot_loader": 3, "tee": 0, "snp": 8, "microcode": 115}
	if len(names) > 0 || says == nil || says.Kind != attestation.SevSnp || len(says.TCB) != len(want) || says.TCB["microcode"] != 115 {
		t.Errorf("got failures of %v, summary %+v", names, says)
	}
	if names, _ := failed([64]byte{1}); !slices.Equal(names, []string{"report_data"}) {
		t.Errorf("another run's: got failures of %v", names)
	}
	e.Report = append(e.Report, 0)
	if names, says := failed([64]byte(report[80:144])); !slices.Equal(names, []string{"form"}) || says != nil {
		t.Errorf("padded: got failures of %v, %+v", names, says)
	}
	e.Kind = "Nitro"
	if names, says := failed([64]byte{}); len(names) != 1 || says != nil {
		t.Errorf("another kind: got failures of %v, %+v", names, says)
	}
}

// Results are tokens that an independent library verifies, with the status that
// the verdict is.
func TestEAR(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	report := vectors.Read(t, group, "snp/milan-v2-google/report.bin")
	waived := []evidence.Waiver{evidence.AnyReportData, evidence.AnyTCB, evidence.NoRevocation}
	measured := []evidence.Hex{report[144:192]}
	for name, x := range map[string]struct {
		policy evidence.Policy
		report []byte
		status string
		vector map[string]int
	}{
		"good":           {evidence.Policy{Now: now, AllowDebug: true, Measurements: measured, Waived: waived}, report, "affirming", map[string]int{"instance-identity": 2, "hardware": 2, "runtime-opaque": 2, "executables": 3, "configuration": 32}},
		"debug":          {evidence.Policy{Now: now, Measurements: measured, Waived: waived}, report, "contraindicated", map[string]int{"instance-identity": 2, "hardware": 2, "runtime-opaque": 2, "executables": 3, "configuration": 96}},
		"another launch": {evidence.Policy{Now: now, AllowDebug: true, Measurements: []evidence.Hex{make([]byte, 48)}, Waived: waived}, report, "contraindicated", map[string]int{"instance-identity": 2, "hardware": 2, "runtime-opaque": 2, "executables": 96, "configuration": 32}},
		"nothing stated": {evidence.Policy{Now: now, AllowDebug: true, Waived: waived}, report, "none", map[string]int{"instance-identity": 2, "hardware": 2, "runtime-opaque": 2, "configuration": 32}},
		"forged":         {evidence.Policy{Now: now, Measurements: measured, Waived: waived}, append(append([]byte{}, report[:144]...), append([]byte{report[144] ^ 1}, report[145:]...)...), "contraindicated", map[string]int{"instance-identity": 99}},
	} {
		v, err := Verifier(evidence.SevSnp)
		if err != nil {
			t.Fatal(err)
		}
		a := v.Verify(x.report, folder(t, "snp/milan-v2-google").Collateral, x.policy)
		token, err := EAR(a, EARInput{Now: now, Build: "test", PolicyID: "b3:x", KeyID: "k"}, private)
		if err != nil {
			t.Fatal(name, err)
		}
		parsed, err := oracle.ParseSignedCompact(token, []oracle.SignatureAlgorithm{oracle.EdDSA})
		if err != nil {
			t.Fatal(name, err)
		}
		payload, err := parsed.Verify(public)
		if err != nil {
			t.Fatal(name, err)
		}
		var got struct {
			Profile string `json:"eat_profile"`
			Submods map[string]struct {
				Status string         `json:"ear_status"`
				Vector map[string]int `json:"ear_trustworthiness_vector"`
			} `json:"submods"`
		}
		if err := json.Unmarshal(payload, &got); err != nil {
			t.Fatal(name, err)
		}
		sub := got.Submods["sev-snp"]
		if got.Profile != EARProfile || sub.Status != x.status || len(sub.Vector) != len(x.vector) {
			t.Errorf("%s: got %s, want %s, %v", name, payload, x.status, x.vector)
		}
		for claim, want := range x.vector {
			if sub.Vector[claim] != want {
				t.Errorf("%s: %s: got %d, want %d", name, claim, sub.Vector[claim], want)
			}
		}
	}
	if _, err := EAR(evidence.NewAppraisal(evidence.Tdx), EARInput{}, private); err == nil {
		t.Error("a result without a time")
	}
}

// Whatever lies in a folder, reading it ends in collateral or an error.
func FuzzFolderJSON(f *testing.F) {
	f.Add([]byte(`{"tcbInfo":{},"signature":""}`))
	f.Add([]byte(`{"tcb_info":"{}","tcb_info_signature":"00","pck_crl":"00"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var one Folder
		used, err := one.json(b)
		if err == nil && used && one.TCBInfo == nil && one.QEIdentity == nil && one.JWKS == nil {
			t.Errorf("took %q and kept nothing", b)
		}
		one.certificates(b)
	})
}
