package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/vectors"
)

// runCLI runs the command line in this process.
func runCLI(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(context.Background(), args, &console{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

func tempFile(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const waiveAll = "schema: joulebox.evidence-policy/1\naccept_without_checking: [measurement, report_data, tcb, revocation]\n"

// Every kind by its exit codes: good, refused, a mistake, and something missing.
func TestVectorsEvidenceVerify(t *testing.T) {
	root := vectors.Dir(t, "05-tee")
	at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	lax := tempFile(t, "lax.yaml", []byte(waiveAll))
	debug := tempFile(t, "debug.yaml", []byte(waiveAll+"allow_debug: true\n"))
	strict := tempFile(t, "strict.yaml", []byte("schema: joulebox.evidence-policy/1\naccept_without_checking: [measurement, report_data]\n"))
	padded := tempFile(t, "padded", append(vectors.Read(t, "05-tee", "snp/milan-v2-trustee/report.bin"), 0))
	judged := 0
	for _, x := range []struct {
		kind, report, dir, policy, now string
		code                           int
		says                           string
	}{
		{"sev-snp", at("snp/genoa-v3-tinfoil-1/report.bin"), at("snp/genoa-v3-tinfoil-1"), lax, "2026-12-01T00:00:00Z", 0, "valid"},
		{"sev-snp", at("snp/milan-v2-google/report.bin"), at("snp/milan-v2-google"), lax, "2025-01-01T00:00:00Z", 1, "FAIL debug                  debug:"},
		{"sev-snp", at("snp/milan-v2-google/report.bin"), at("snp/milan-v2-google"), debug, "2025-01-01T00:00:00Z", 0, "valid"},
		{"sev-snp", at("snp/milan-v3-vlek-trustee/report.bin"), at("snp/milan-v3-vlek-trustee"), lax, "2026-01-01T00:00:00Z", 1, "FAIL chain                  expired:"},
		{"sev-snp", at("snp/milan-v2-trustee/report.bin"), at("snp/milan-v2-google"), lax, "2025-01-01T00:00:00Z", 1, "FAIL key                    key_mismatch:"},
		{"sev-snp", at("snp/milan-v2-trustee/report.bin"), at("snp/milan-v2-trustee"), strict, "2025-01-01T00:00:00Z", 3, "?    revocation             missing_collateral:"},
		{"sev-snp", at("snp/milan-v2-trustee/report.bin"), "", lax, "2025-01-01T00:00:00Z", 3, "?    key                    missing_collateral:"},
		{"sev-snp", padded, at("snp/milan-v2-trustee"), lax, "2025-01-01T00:00:00Z", 1, "FAIL form                   trailing:"},
		{"tdx", at("tdx/v4-chutes/quote.bin"), at("tdx/v4-chutes/collateral"), strict, "2026-05-21T00:00:00Z", 0, "UpToDate"},
		{"tdx", at("tdx/v4-chutes/quote.bin"), at("tdx/v4-chutes/collateral"), strict, "2026-08-21T00:00:00Z", 3, "stale_collateral:"},
		{"tdx", at("tdx/v5-google/quote.bin"), "", lax, "2026-05-21T00:00:00Z", 0, "quote version 5, TDX 1.5"},
		{"tdx", at("tdx/v4-debug-trustee/quote.bin"), "", lax, "2026-05-21T00:00:00Z", 1, "FAIL debug                  debug:"},
		{"tdx", at("tdx/v4-google-spr/quote.bin"), "", lax, "2026-05-21T00:00:00Z", 1, "FAIL form                   trailing:"},
		{"tdx", at("tdx/sgx-v3-occlum/quote.bin"), "", lax, "2026-05-21T00:00:00Z", 1, "FAIL form                   unsupported:"},
		{"nvidia-gpu", at("gpu/h100-8gpu-near/eat.json"), at("gpu/h100-8gpu-near"), lax, "2026-04-24T02:06:05Z", 0, "valid"},
		{"nvidia-gpu", at("gpu/h100-8gpu-near/eat.json"), at("gpu/h100-1gpu-tinfoil"), lax, "2026-04-24T02:06:05Z", 1, "FAIL keys                   key_mismatch:"},
		{"nvidia-gpu", at("gpu/fail-8gpu-chutes/eat.json"), at("gpu/fail-8gpu-chutes"), lax, "2026-05-20T02:18:14Z", 1, "FAIL overall                result:"},
		{"nvidia-gpu", at("gpu/h100-8gpu-near/eat.json"), "", lax, "2026-04-24T02:06:05Z", 3, "?    keys                   missing_collateral:"},
		{"arm-cca", at("snp/milan-v2-trustee/report.bin"), "", lax, "2025-01-01T00:00:00Z", 1, "FAIL form                   unsupported:"},
	} {
		judged++
		args := []string{"evidence", "verify", "--kind", x.kind, "--report", x.report, "--policy", x.policy, "--now", x.now}
		if x.dir != "" {
			args = append(args, "--collateral", x.dir)
		}
		code, out, errs := runCLI(t, args...)
		if code != x.code || !strings.Contains(out, x.says) {
			t.Errorf("%v: got %d, want %d with %q:\n%s%s", args, code, x.code, x.says, out, errs)
		}
		code, out, _ = runCLI(t, append(args, "--json")...)
		var doc struct {
			Kind    string
			Verdict string
			Policy  string
			Checks  []struct{ Name, Status, Reason string }
		}
		if err := json.Unmarshal([]byte(out), &doc, json.MatchCaseInsensitiveNames(true)); err != nil || code != x.code || doc.Kind != x.kind || !strings.HasPrefix(doc.Policy, "b3:") || len(doc.Checks) < 2 {
			t.Errorf("%v: as JSON: got %d, %v:\n%s", args, code, err, out)
		}
	}
	vectors.AtLeast(t, "command lines", judged, 19)
}

// What isn't a verdict on the evidence is a mistake of the command line.
func TestEvidenceVerifyUsage(t *testing.T) {
	report := tempFile(t, "report", []byte("x"))
	for _, args := range [][]string{
		{},
		{"--kind", "nitro", "--report", report},
		{"--kind", "tdx"},
		{"--kind", "tdx", "--report", report + ".absent"},
		{"--kind", "tdx", "--report", t.TempDir()},
		{"--kind", "tdx", "--report", report, "--json", "--ear"},
		{"--kind", "tdx", "--report", report, "--policy", report},
		{"--kind", "tdx", "--report", report, "--collateral", report},
		{"--kind", "tdx", "--report", report, "--now", "yesterday"},
		{"--kind", "tdx", "--report", report, "more"},
	} {
		if code, out, errs := runCLI(t, append([]string{"evidence", "verify"}, args...)...); code != exitUsage || errs == "" || out != "" {
			t.Errorf("%v: got %d, %q, %q", args, code, out, errs)
		}
	}
	if code, out, _ := runCLI(t, "evidence", "verify", "--kind", "tdx", "--report", report); code != exitFailed || !strings.Contains(out, "FAIL form") {
		t.Errorf("junk: got %d, %s", code, out)
	}
}

// A run at S7 whose bundle carries a genuine report: all of it is checked, and
// the one thing that can't fit is that the report is this run's.
func TestVectorsEvidenceInBundle(t *testing.T) {
	var v struct {
		Bundle jsontext.Value
		Steps  struct {
			Seed vectors.Hex `json:"secret_seed_hex"`
		}
	}
	vectors.Load(t, "11-bundle", "sovereign-s7.json", &v)
	b, err := bundle.Parse(v.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	report := vectors.Read(t, "05-tee", "snp/milan-v2-trustee/report.bin")
	genuine := attestation.TEE{Kind: attestation.SevSnp, Measurement: "a1f3930413247bb38cfc171579ea3c12d5fe4901f0c792f63fd75d98f1ef827c23500644e0e692e6be917f9050d3d38c",
		TCB: map[string]uint64{"boot_loader": 3, "tee": 0, "snp": 8, "microcode": 115}}
	other := genuine
	other.TCB = map[string]uint64{"boot_loader": 3, "tee": 0, "snp": 8, "microcode": 116}
	policy := tempFile(t, "policy.yaml", []byte("schema: joulebox.evidence-policy/1\nmeasurements: ["+genuine.Measurement+"]\naccept_without_checking: [report_data, tcb, revocation]\n"))
	for name, x := range map[string]struct {
		tee    attestation.TEE
		args   []string
		code   int
		failed []string
	}{
		"nothing to verify by": {genuine, nil, 3, nil},
		"genuine":              {genuine, []string{"--evidence-policy", policy, "--now", "2025-01-01T00:00:00Z"}, 1, []string{"evidence_report_data"}},
		"another TCB":          {other, []string{"--evidence-policy", policy, "--now", "2025-01-01T00:00:00Z"}, 1, []string{"evidence_report_data", "evidence"}},
		"an expired key":       {genuine, []string{"--evidence-policy", policy, "--now", "2031-01-01T00:00:00Z"}, 1, []string{"evidence_chain"}},
	} {
		parts := b.Parts()
		fields := parts.Statement.Fields()
		fields.TEE = &x.tee
		if parts.Statement, err = attestation.New(fields); err != nil {
			t.Fatal(err)
		}
		parts.Evidence = &bundle.Evidence{Kind: attestation.SevSnp, Report: report, Chain: [][]byte{vectors.Read(t, "05-tee", "snp/milan-v2-trustee/vcek.der")}}
		key := ed25519.NewKeyFromSeed(v.Steps.Seed)
		made, err := bundle.Assemble(key, parts)
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{"verify", "--json", "--key", hex.EncodeToString(key.Public().(ed25519.PublicKey))}, x.args...)
		code, out, errs := runCLI(t, append(args, tempFile(t, "bundle.json", made.Marshal()))...)
		var doc struct {
			Bundles []struct{ Checks []bundle.Check }
		}
		if err := json.Unmarshal([]byte(out), &doc, json.MatchCaseInsensitiveNames(true)); err != nil || len(doc.Bundles) != 1 {
			t.Fatalf("%s: %v: %s%s", name, err, out, errs)
		}
		var failed []string
		for _, c := range doc.Bundles[0].Checks {
			if c.Status == bundle.Fail {
				failed = append(failed, c.Name)
			}
		}
		if code != x.code || !slices.Equal(failed, x.failed) {
			t.Errorf("%s: got %d with failures of %v, want %d with %v", name, code, failed, x.code, x.failed)
		}
	}
	if code, _, errs := runCLI(t, "verify", "--evidence-policy", tempFile(t, "p", []byte("schema: joulebox.evidence-policy/1\nreport_data: \""+strings.Repeat("00", 64)+"\"\n")), "x"); code != exitUsage || !strings.Contains(errs, "report_data") {
		t.Errorf("report data in the policy: got %d, %s", code, errs)
	}
}
