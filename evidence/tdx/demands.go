package tdx

import (
	"fmt"
	"slices"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/pki"
)

// tcb applies Intel's statements to the platform, its TDX module and its quoting
// enclave.
func tcb(a *evidence.Appraisal, anchors *anchors, c evidence.Collateral, p *evidence.Policy, q *Quote, platform *platform, qe enclave) {
	const name = "tcb"
	if p.Waives(evidence.AnyTCB) {
		a.Skip(name, "the policy accepts any")
		return
	}
	if c.TCBInfo == nil {
		a.Check(name, evidence.Refuse(evidence.Missing, "Intel's TCB info of FMSPC %x wasn't handed in: hand it in, or accept_without_checking tcb", platform.fmspc), "")
		return
	}
	v, err := statements(anchors, c, p, q, platform, qe)
	a.Check(name, err, "%s, by Intel's evaluation", v)
}

// statements reads both statements and combines what they say. What refuses comes
// before what is missing or out of date.
func statements(anchors *anchors, c evidence.Collateral, p *evidence.Policy, q *Quote, platform *platform, qe enclave) (v verdict, err error) {
	given, err := pki.ParseAll(c.Certificates)
	if err != nil {
		return v, err
	}
	signer, err := anchors.signer(given, p.Now)
	if err != nil {
		return v, err
	}
	var info tcbInfo
	if err := readStatement(c.TCBInfo, "tcbInfo", signer, &info); err != nil {
		return v, err
	}
	if v, err = info.verdict(platform, &q.Body); err != nil {
		return v, err
	}
	if c.QEIdentity == nil {
		if err := acceptable(v, p); err != nil {
			return v, err
		}
		return v, evidence.Refuse(evidence.Missing, "%s without Intel's QE identity, which wasn't handed in", v)
	}
	var id qeIdentity
	if err := readStatement(c.QEIdentity, "enclaveIdentity", signer, &id); err != nil {
		return v, err
	}
	if err := id.matches(qe); err != nil {
		return v, err
	}
	if err := id.verdict(&v, qe); err != nil {
		return v, err
	}
	if err := acceptable(v, p); err != nil {
		return v, err
	}
	return v, current(&info, &id, p)
}

// current wants both statements to be of the time to judge by, and new enough.
func current(info *tcbInfo, id *qeIdentity, p *evidence.Policy) error {
	if least := min(info.Evaluation, id.Evaluation); least < p.Tdx.MinimumTCBEvaluation {
		return evidence.Refuse(evidence.Stale, "the statements are of Intel's evaluation %d, want at least %d", least, p.Tdx.MinimumTCBEvaluation)
	}
	if err := info.current("TCB info", p.Now); err != nil {
		return err
	}
	return id.current("QE identity", p.Now)
}

func acceptable(v verdict, p *evidence.Policy) error {
	accepted := p.Tdx.AcceptedTCBStatus
	if len(accepted) == 0 {
		accepted = []string{string(UpToDate)}
	}
	switch {
	case v.status == Revoked:
		return evidence.Refuse(evidence.Revoked, "Intel has revoked this security version: %s", v)
	case !slices.Contains(accepted, string(v.status)):
		return evidence.Refuse(evidence.TCB, "got %s, want one of %v", v, accepted)
	}
	return nil
}

// demands holds a genuine quote against the policy.
func demands(a *evidence.Appraisal, b *Body, p *evidence.Policy) {
	t := &p.Tdx
	var err error
	if b.MRSignerSEAM != [48]byte{} || b.SEAMAttributes != [8]byte{} {
		err = evidence.Refuse(evidence.Unmet, "the TDX module is signed by %x with attributes %x, and Intel's production modules have zeros there", b.MRSignerSEAM, b.SEAMAttributes)
	}
	a.Check("module", err, "Intel's, generation %d, version %d", b.TEETCBSVN[1], b.TEETCBSVN[0])
	a.DemandDebug(p, b.TDAttributes.Debug(), fmt.Sprintf("td_attributes %x", b.TDAttributes))
	a.DemandMeasurement(p, b.MRTD[:])
	a.DemandReportData(p, "report_data", evidence.ReportData, b.ReportData[:])
	a.Demand("migration", evidence.Unmet, true, t.AllowMigratable || !b.TDAttributes.Migratable(), "a service domain may move it: %t", b.TDAttributes.Migratable())
	if m := t.MinimumTEETCBSVN; len(m) > 0 {
		met := true
		for i := range b.TEETCBSVN {
			met = met && b.TEETCBSVN[i] >= m[i]
		}
		a.Demand("tee_tcb_svn", evidence.TCB, true, met, "%x, at least %s in each byte", b.TEETCBSVN, m)
	}
	if len(t.XFAM) > 0 {
		a.DemandOneOf("xfam", evidence.Unmet, b.XFAM[:], []evidence.Hex{t.XFAM})
	}
	values := [][]byte{b.MRSEAM[:], b.MRConfigID[:], b.MROwner[:], b.MROwnerConfig[:], b.MRServiceTD[:], b.RTMR[0][:], b.RTMR[1][:], b.RTMR[2][:], b.RTMR[3][:]}
	for i, r := range t.Registers() {
		if r.Name == "mr_service_td" && !b.Is15 && len(r.Accepted) > 0 {
			a.Check(r.Name, evidence.Refuse(evidence.Unmet, "a body of TDX 1.0 has none, and the policy wants one"), "")
			continue
		}
		a.DemandOneOf(r.Name, evidence.Measurement, values[i], r.Accepted)
	}
}
