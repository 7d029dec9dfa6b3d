// Package appraise is where the kinds of evidence meet: which verifier is for
// which kind, collateral from a folder, evidence in a bundle, and the result in
// the form that RATS tools read.
package appraise

import (
	"fmt"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/cca"
	"github.com/joulebox/joulebox/evidence/nvgpu"
	"github.com/joulebox/joulebox/evidence/sevsnp"
	"github.com/joulebox/joulebox/evidence/tdx"
)

// verifiers are all there are: the kinds are a closed set.
var verifiers = []evidence.Verifier{sevsnp.Verifier{}, tdx.Verifier{}, nvgpu.Verifier{}, cca.Verifier{}}

// Verifier is the one for a kind.
func Verifier(k evidence.Kind) (evidence.Verifier, error) {
	for _, v := range verifiers {
		if v.Kind() == k {
			return v, nil
		}
	}
	return nil, fmt.Errorf("kind: got %q, want one of %v", k, evidence.Kinds())
}

// Bundle makes the verifier that bundle.Options wants: the report that travels in
// a bundle, with its chain and further collateral, under a policy whose report
// data is the run's (§7.6) and no other.
func Bundle(c evidence.Collateral, p evidence.Policy) func(*bundle.Evidence, [64]byte) ([]bundle.Check, *attestation.TEE) {
	return func(e *bundle.Evidence, reportData [64]byte) ([]bundle.Check, *attestation.TEE) {
		a := inBundle(e, reportData, c, p)
		checks := make([]bundle.Check, len(a.Checks))
		for i, k := range a.Checks {
			checks[i] = bundle.Check{Name: k.Name, Status: k.Status, Detail: k.Detail}
		}
		return checks, a.TEE()
	}
}

func inBundle(e *bundle.Evidence, reportData [64]byte, c evidence.Collateral, p evidence.Policy) *evidence.Appraisal {
	kind, err := evidence.OfTEE(e.Kind)
	var v evidence.Verifier
	if err == nil {
		v, err = Verifier(kind)
	}
	if err != nil {
		a := evidence.NewAppraisal(kind)
		a.Check("kind", err, "")
		return a
	}
	c.Certificates = append(append([][]byte{}, e.Chain...), c.Certificates...)
	p.ReportData = reportData[:]
	return v.Verify(e.Report, c, p)
}
