package evidence_test

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
)

const schema = `"schema":"joulebox.evidence-policy/1"`

func TestParsePolicy(t *testing.T) {
	for _, src := range []string{
		`{` + schema + `,"allow_debug":true,"accept_without_checking":["tcb","revocation"],"sev_snp":{"minimum_tcb":{"snp":8},"max_vmpl":0}}`,
		"schema: joulebox.evidence-policy/1\nallow_debug: true\naccept_without_checking: [tcb, revocation]\nsev_snp:\n  minimum_tcb:\n    snp: 8\n  max_vmpl: 0\n",
	} {
		p, err := evidence.ParsePolicy([]byte(src))
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if !p.AllowDebug || !p.Waives(evidence.AnyTCB) || p.Waives(evidence.AnyMeasurement) || p.SevSnp.MinimumTCB == nil || p.SevSnp.MinimumTCB.SNP != 8 || p.SevSnp.MaxVMPL == nil {
			t.Errorf("got %+v", p)
		}
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	long := strings.Repeat("0", 96)
	for src, words := range map[string]string{
		``:                                    "schema",
		`{}`:                                  "schema",
		`[]`:                                  "policy",
		`{"schema":"other"}`:                  "schema",
		`{` + schema + `} {}`:                 "policy",
		`{` + schema + `,"x":1}`:              `"x"`,
		`{` + schema + `,"allow_debug":null}`: "null",
		`{` + schema + `,"tdx":{"mr_seam":[null]}}`:                                  "null",
		`{` + schema + `,"allow_debug":true,"allow_debug":false}`:                    "duplicate",
		`{` + schema + `,"Allow_Debug":true}`:                                        "Allow_Debug",
		`{` + schema + `,"measurements":["` + long[:94] + `"]}`:                      "measurements: got 47",
		`{` + schema + `,"measurements":["` + strings.ToUpper("ab"+long[2:]) + `"]}`: "lower-case",
		`{` + schema + `,"measurements":[""]}`:                                       "hex",
		`{` + schema + `,"report_data":"00"}`:                                        "report_data",
		`{` + schema + `,"accept_without_checking":["debug"]}`:                       "accept_without_checking",
		`{` + schema + `,"sev_snp":{"signing_key":"VCEK"}}`:                          "signing_key",
		`{` + schema + `,"sev_snp":{"minimum_firmware":"1.2"}}`:                      "minimum_firmware",
		`{` + schema + `,"sev_snp":{"minimum_firmware":"1.02.3"}}`:                   "minimum_firmware",
		`{` + schema + `,"sev_snp":{"minimum_tcb":{"snp":256}}}`:                     "minimum_tcb",
		`{` + schema + `,"sev_snp":{"minimum_tcb":{"snp":1.0}}}`:                     "minimum_tcb",
		`{` + schema + `,"tdx":{"rtmr3":["00"]}}`:                                    "tdx.rtmr3",
		`{` + schema + `,"arm_cca":{"extensible_measurements":[[],["00"]]}}`:         "extensible_measurements[1]",
		"schema: joulebox.evidence-policy/1\nmeasurements: &a []\n":                  "anchor",
	} {
		if p, err := evidence.ParsePolicy([]byte(src)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %+v, %v, want an error with %q", src, p, err, words)
		}
	}
}

// What parses is written as a policy that parses to the same.
func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(`{` + schema + `,"allow_debug":true}`))
	f.Add([]byte("schema: joulebox.evidence-policy/1\ntdx:\n  accepted_tcb_status: [UpToDate]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := evidence.ParsePolicy(src)
		if err != nil {
			return
		}
		once, err := json.Marshal(p, json.Deterministic(true), json.OmitZeroStructFields(true))
		if err != nil {
			t.Fatal(err)
		}
		written := append([]byte(`{`+schema+`,`), once[1:]...)
		if string(once) == "{}" {
			written = []byte(`{` + schema + `}`)
		}
		q, err := evidence.ParsePolicy(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		again, err := json.Marshal(q, json.Deterministic(true), json.OmitZeroStructFields(true))
		if err != nil || !bytes.Equal(once, again) {
			t.Errorf("got %s, want %s, %v", again, once, err)
		}
	})
}

func TestAppraisal(t *testing.T) {
	a := evidence.NewAppraisal(evidence.SevSnp)
	if a.Verdict != bundle.Invalid || a.Err() == nil || a.TEE() != nil {
		t.Errorf("empty: got %+v, %v", a, a.Err())
	}
	a.Check("one", nil, "fine")
	if a.Verdict != bundle.Valid || a.Err() != nil {
		t.Errorf("one: got %s, %v", a.Verdict, a.Err())
	}
	a.Check("two", evidence.Refuse(evidence.Missing, "no list"), "")
	a.Check("three", nil, "fine")
	if err := a.Err(); a.Verdict != bundle.Incomplete || !errors.Is(err, evidence.Missing) {
		t.Errorf("open: got %s, %v", a.Verdict, err)
	}
	a.Check("four", evidence.Refuse(evidence.Debug, "on"), "")
	a.Check("five", errors.New("bare"), "")
	a.Check("six", evidence.Refuse(evidence.Missing, "no list"), "")
	err := a.Err()
	if a.Verdict != bundle.Invalid || !errors.Is(err, evidence.Debug) || !errors.Is(err, evidence.Malformed) || errors.Is(err, evidence.Missing) {
		t.Errorf("refused: got %s, %v", a.Verdict, err)
	}
}

func TestKinds(t *testing.T) {
	for _, k := range evidence.Kinds() {
		if got, err := evidence.ParseKind(string(k)); err != nil || got != k {
			t.Errorf("%s: got %s, %v", k, got, err)
		}
		if tee, ok := k.TEE(); ok {
			if back, err := evidence.OfTEE(tee); err != nil || back != k {
				t.Errorf("%s: got %s, %v", k, back, err)
			}
		}
	}
	if _, err := evidence.ParseKind("SevSnp"); err == nil {
		t.Error("took another spelling of a kind")
	}
	if _, err := evidence.OfTEE(attestation.TEEKind("Nitro")); err == nil {
		t.Error("took a kind that isn't in the standard")
	}
}
