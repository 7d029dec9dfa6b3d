package nvgpu

import (
	"crypto/ecdsa"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/jose"
	"github.com/joulebox/joulebox/evidence/internal/pki"
)

// Issuer is NVIDIA's attestation service.
const Issuer = "https://nras.attestation.nvidia.com"

// Verifier verifies bundles under the keys that are handed in.
type Verifier struct{}

// Kind is evidence.NvidiaGPU.
func (Verifier) Kind() evidence.Kind { return evidence.NvidiaGPU }

// Verify implements evidence.Verifier. Collateral.JWKS must hold the service's
// keys; who hands them in answers for them.
func (Verifier) Verify(report []byte, c evidence.Collateral, p evidence.Policy) *evidence.Appraisal {
	a := evidence.NewAppraisal(evidence.NvidiaGPU)
	if !a.Clock(&p) {
		return a
	}
	t, err := parse(report)
	if !a.Check("form", err, "a token over %s, all under ES384", count(t)) {
		return a
	}
	keys, err := t.keys(c, &p)
	if !a.Check("keys", err, "the tokens name keys that were handed in") {
		return a
	}
	if len(c.Roots) == 0 {
		a.Note("the service's keys are trusted because they were handed in: no root for their certificates was")
	}
	o, err := t.signatures(keys)
	if !a.Check("signature", err, "ES384 on each of %d tokens; the overall one is over exactly these devices' tokens", len(keys)) {
		return a
	}
	devices, err := t.devices()
	if !a.Check("claims", err, "version %s", o.Version) {
		return a
	}
	if !a.Check("validity", times(&o, devices, t.names, &p), "%s, and every token is of this time", issuer(&p)) {
		return a
	}
	a.Claims = claims(&o, devices, t.names)
	demands(a, &o, devices, t.names, &p)
	a.Note("the tokens are the service's word: the GPUs' own reports aren't in them")
	return a
}

func count(t *tokens) string {
	if t == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d devices", len(t.names))
}

func issuer(p *evidence.Policy) string {
	if p.NvidiaGPU.Issuer != "" {
		return p.NvidiaGPU.Issuer
	}
	return Issuer
}

// keys are the keys that the tokens name, in the tokens' order, each one handed in
// and holding at this time.
func (t *tokens) keys(c evidence.Collateral, p *evidence.Policy) (used []jose.Key, err error) {
	if c.JWKS == nil {
		return nil, evidence.Refuse(evidence.Missing, "the service's keys weren't handed in: fetch them from a place that you trust")
	}
	keys, err := jose.ParseKeys(c.JWKS, jose.ES384)
	if err != nil {
		return nil, err
	}
	_, list := t.all()
	checked := map[string]bool{}
	for _, token := range list {
		k, err := jose.Pick(keys, token.KeyID)
		if err == nil && !checked[k.ID] {
			err = checkCerts(k, c, p)
		}
		if err != nil {
			return nil, err
		}
		checked[k.ID] = true
		used = append(used, k)
	}
	return used, nil
}

// signatures checks the overall token, that it is over these devices' tokens, and
// those. The digests come before the devices' signatures: they cost less.
func (t *tokens) signatures(keys []jose.Key) (o overall, err error) {
	names, list := t.all()
	for i := range list {
		if err := list[i].Verify(keys[i].Public, jose.ES384); err != nil {
			return o, evidence.Refuse(reason(err), "%s: %v", names[i], err)
		}
		if i > 0 {
			continue
		}
		if o, err = readOverall(t.overall.Payload); err == nil {
			err = o.submodules(t)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func reason(err error) evidence.Reason {
	if r, ok := err.(*evidence.Refusal); ok {
		return r.Reason
	}
	return evidence.Signature
}

// checkCerts checks the certificates that a key comes with, if it does: they are
// the key's, follow one another, hold at this time, and lead to a root if one was
// handed in.
func checkCerts(k jose.Key, c evidence.Collateral, p *evidence.Policy) error {
	chain, err := pki.ParseAll(k.Certs)
	if err != nil {
		return err
	}
	roots, err := pki.ParseAll(c.Roots)
	if err != nil {
		return err
	}
	if len(chain) == 0 {
		if len(roots) > 0 {
			return evidence.Refuse(evidence.Chain, "the key %q comes without certificates, and a root was handed in", k.ID)
		}
		return nil
	}
	if public, ok := chain[0].PublicKey.(*ecdsa.PublicKey); !ok || !public.Equal(k.Public) {
		return evidence.Refuse(evidence.KeyMismatch, "the certificate of the key %q is another key's", k.ID)
	}
	if len(roots) > 0 {
		root := rootOf(chain[len(chain)-1], roots)
		if root == nil {
			return evidence.Refuse(evidence.Chain, "the certificates of the key %q lead to %q, which isn't a root that was handed in", k.ID, chain[len(chain)-1].Issuer.CommonName)
		}
		if !pki.Same(chain[len(chain)-1], root) {
			chain = append(chain, root)
		}
	}
	return pki.Follow(p.Now, chain...)
}

// rootOf is the root that a chain's last certificate is, or is issued by.
func rootOf(last *x509.Certificate, roots []*x509.Certificate) *x509.Certificate {
	for _, r := range roots {
		if pki.Same(last, r) {
			return r
		}
	}
	return pki.IssuerAmong(last, roots)
}

func (t *tokens) devices() (all []device, err error) {
	for _, name := range t.names {
		d, err := readDevice(name, t.device[name].Payload)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func times(o *overall, devices []device, names []string, p *evidence.Policy) error {
	if err := o.check("overall", issuer(p), p.Now); err != nil {
		return err
	}
	for i := range devices {
		if err := devices[i].check(names[i], issuer(p), p.Now); err != nil {
			return err
		}
	}
	return nil
}

func claims(o *overall, devices []device, names []string) *evidence.Claims {
	c := &evidence.Claims{ReportData: o.Nonce, Details: map[string]string{"version": o.Version, "devices": strings.Join(names, " "), "overall": fmt.Sprint(*o.Result)}}
	for i, d := range devices {
		c.Debug = c.Debug || d.Debug != "disabled"
		for name, v := range map[string]string{"hwmodel": d.Model, "ueid": d.UEID, "oemid": d.OEM, "dbgstat": d.Debug, "measres": d.Measured, "driver": d.Driver, "vbios": d.VBIOS} {
			if v != "" {
				c.Details[names[i]+"."+name] = v
			}
		}
	}
	return c
}

// demands holds genuine tokens against the policy.
func demands(a *evidence.Appraisal, o *overall, devices []device, names []string, p *evidence.Policy) {
	g := &p.NvidiaGPU
	var err error
	if !*o.Result {
		err = evidence.Refuse(evidence.Result, "the service's overall result is false")
	}
	a.Check("overall", err, "the service's overall result is true")
	a.DemandReportData(p, "nonce", evidence.Nonce, o.Nonce)
	a.Demand("gpus", evidence.Unmet, g.GPUs > 0, len(devices) == int(g.GPUs), "%d devices, the policy wants %d", len(devices), g.GPUs)
	debug := slices.IndexFunc(devices, func(d device) bool { return d.Debug != "disabled" && d.Debug != "" })
	what := ""
	if debug >= 0 {
		what = fmt.Sprintf("%s: dbgstat is %q", names[debug], devices[debug].Debug)
	}
	a.DemandDebug(p, debug >= 0, what)
	for i := range devices {
		a.Check(names[i], devices[i].acceptable(o, g), "%s %s, driver %s, VBIOS %s: measurements as NVIDIA published them", devices[i].Model, devices[i].UEID, devices[i].Driver, devices[i].VBIOS)
	}
}

// acceptable holds one device's claims against the overall token and the policy.
func (d *device) acceptable(o *overall, g *evidence.NvidiaGPUPolicy) error {
	if err := d.result(); err != nil {
		return err
	}
	if d.Debug == "" {
		return evidence.Refuse(evidence.Result, "dbgstat is absent")
	}
	if d.Nonce.String() != o.Nonce.String() {
		return evidence.Refuse(evidence.Nonce, "eat_nonce: got %s, want the overall token's, %s", d.Nonce, o.Nonce)
	}
	if w := d.warning(); w != "" && !g.AllowWarnings {
		return evidence.Refuse(evidence.Result, "the service warns: %s", w)
	}
	for _, x := range []struct {
		name, got string
		accepted  []string
	}{{"hwmodel", d.Model, g.Models}, {"driver version", d.Driver, g.DriverVersions}, {"VBIOS version", d.VBIOS, g.VBIOSVersions}, {"ueid", d.UEID, g.UEIDs}} {
		if len(x.accepted) > 0 && !slices.Contains(x.accepted, x.got) {
			return evidence.Refuse(evidence.Unmet, "%s: got %q, want one of %q", x.name, x.got, x.accepted)
		}
	}
	return nil
}
