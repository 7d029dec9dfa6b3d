package sevsnp

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-sev-guest/abi"
	"github.com/google/go-sev-guest/proto/sevsnp"
	"github.com/google/go-sev-guest/verify"
	"github.com/google/go-sev-guest/verify/trust"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/internal/vectors"
)

// unreachable is a getter for a library that would otherwise ask AMD.
type unreachable struct{ t *testing.T }

func (u unreachable) Get(url string) ([]byte, error) {
	u.t.Errorf("the oracle asked for %s", url)
	return nil, errors.New("no network")
}

// An independent verifier and this one agree on each report, and on each report
// with one byte changed.
func TestOracle(t *testing.T) {
	judged := 0
	for _, g := range goods(t) {
		policy := evidence.Policy{Now: g.Policy.Now, AllowDebug: true, Waived: []evidence.Waiver{evidence.AnyMeasurement, evidence.AnyReportData, evidence.AnyTCB, evidence.NoRevocation}}
		for at := -1; at < len(g.Report); at += 23 {
			report := append([]byte{}, g.Report...)
			if at >= 0 {
				report[at] ^= 0x40
			}
			ours := Verifier{}.Verify(report, g.Collateral, policy).Verdict == bundle.Valid
			theirs := oracle(t, report, g.Collateral.Certificates, policy.Now)
			if judged++; ours != (theirs == nil) || ours != (at < 0) {
				t.Errorf("%s, byte %d: we say %t, the oracle %v", g.Name, at, ours, theirs)
			}
		}
	}
	vectors.AtLeast(t, "reports beside the oracle", judged, 4*50)
}

func oracle(t *testing.T, report []byte, certs [][]byte, now time.Time) error {
	if err := abi.ValidateReportFormat(report); err != nil {
		return err
	}
	parsed, err := abi.ReportToProto(report)
	if err != nil {
		return err
	}
	chain := &sevsnp.CertificateChain{VcekCert: certs[0], AskCert: certs[1], ArkCert: certs[2]}
	var roots map[string][]*trust.AMDRootCerts // nil is its own
	if info, err := abi.ParseSignerInfo(parsed.SignerInfo); err != nil {
		return err
	} else if info.SigningKey == abi.VlekReportSigner {
		chain = &sevsnp.CertificateChain{VlekCert: certs[0], AskCert: certs[1], ArkCert: certs[2]}
		roots = map[string][]*trust.AMDRootCerts{"Milan": {{ProductLine: "Milan", ProductCerts: &trust.ProductCerts{Asvk: parse(t, certs[1]), Ark: parse(t, certs[2])}}}}
	}
	return verify.SnpAttestation(&sevsnp.Attestation{Report: parsed, CertificateChain: chain},
		&verify.Options{Getter: unreachable{t}, Now: now, DisableCertFetching: true, TrustedRoots: roots})
}
