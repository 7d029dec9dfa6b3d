package tdx

import (
	"crypto/x509"
	"fmt"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/pki"
)

// Verifier verifies quotes against Intel's built-in root.
type Verifier struct {
	anchors func() (*anchors, error) // nil is the built-in ones
}

// Kind is evidence.Tdx.
func (Verifier) Kind() evidence.Kind { return evidence.Tdx }

// Verify implements evidence.Verifier. The quote carries its own certificates;
// revocation lists, TCB info and QE identity are collateral, and so is the
// certificate for Intel's statements, if it isn't one of those built in.
func (v Verifier) Verify(report []byte, c evidence.Collateral, p evidence.Policy) *evidence.Appraisal {
	a := evidence.NewAppraisal(evidence.Tdx)
	if !a.Clock(&p) {
		return a
	}
	q, err := Parse(report)
	if err == nil && !p.Tdx.IgnoreUnsignedTrailingBytes {
		err = q.trailing()
	}
	if err != nil {
		a.Check("form", err, "")
		return a
	}
	a.Check("form", nil, "quote version %d, TDX %s, %d bytes and %d of padding", q.Version, map[bool]string{true: "1.5", false: "1.0"}[q.Body.Is15], len(report)-len(q.padding), len(q.padding))
	load := v.anchors
	if load == nil {
		load = intel
	}
	anchors, err := load()
	if err != nil {
		a.Check("chain", err, "")
		return a
	}
	platform, qe, ok := q.genuine(a, anchors, &p)
	if !ok {
		return a
	}
	revocation(a, c, &p, platform)
	a.Claims = claims(q, platform, qe)
	tcb(a, anchors, c, &p, q, platform, qe)
	demands(a, &q.Body, &p)
	return a
}

// genuine makes the checks that lead from the quote to Intel's root.
func (q *Quote) genuine(a *evidence.Appraisal, anchors *anchors, p *evidence.Policy) (*platform, enclave, bool) {
	platform, err := readPlatform(q.chain, anchors.root, p.Now)
	if !a.Check("chain", err, "PCK of a platform with FMSPC %x, under Intel's root", platform.family()) {
		return nil, enclave{}, false
	}
	qe, err := q.endorsed(platform)
	if !a.Check("qe", err, "Intel's quoting enclave, version %d, vouches for the attestation key", qe.svn) {
		return nil, enclave{}, false
	}
	return platform, qe, a.Check("signature", q.authentic(), "ECDSA P-256 over the quote's %d bytes", len(q.signed))
}

func (p *platform) family() []byte {
	if p == nil {
		return nil
	}
	return p.fmspc
}

func revocation(a *evidence.Appraisal, c evidence.Collateral, p *evidence.Policy, platform *platform) {
	const name = "revocation"
	lists, err := pki.ParseLists(c.CRLs)
	if err == nil && len(lists) == 0 && p.Waives(evidence.NoRevocation) {
		a.Skip(name, "no list was handed in, and the policy does without")
		return
	}
	found := ""
	if err == nil {
		found, err = lists.Check(p.Now, platform.chain, func(*x509.Certificate) bool { return !p.Waives(evidence.NoRevocation) })
	}
	a.Check(name, err, "%s", found)
}

func claims(q *Quote, p *platform, qe enclave) *evidence.Claims {
	d := q.Body.details()
	d["version"] = fmt.Sprint(q.Version)
	d["fmspc"], d["pce_id"], d["qe_svn"] = hex(p.fmspc), hex(p.pceID), fmt.Sprint(qe.svn)
	d["pck_serial"] = fmt.Sprintf("%x", p.chain[0].SerialNumber)
	return &evidence.Claims{
		Measurement: q.Body.MRTD[:],
		ReportData:  q.Body.ReportData[:],
		Debug:       q.Body.TDAttributes.Debug(),
		TCB:         parts(&q.Body, p),
		Details:     d,
	}
}

// parts is the TCB as an attestation names it (§7.6): the domain's and the
// platform's components by their numbers, those that are zero left out.
func parts(b *Body, p *platform) map[string]uint64 {
	m := map[string]uint64{"pce_svn": uint64(p.pceSVN)}
	for i := range 16 {
		if b.TEETCBSVN[i] != 0 {
			m[fmt.Sprintf("tee_tcb_svn_%02d", i)] = uint64(b.TEETCBSVN[i])
		}
		if p.svn[i] != 0 {
			m[fmt.Sprintf("sgx_svn_%02d", i)] = uint64(p.svn[i])
		}
	}
	return m
}
