package cca

import (
	"bytes"
	"crypto/ecdsa"
	"fmt"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/jose"
)

// Verifier verifies tokens under the platforms' keys that are handed in.
type Verifier struct{}

// Kind is evidence.ArmCca.
func (Verifier) Kind() evidence.Kind { return evidence.ArmCca }

// Verify implements evidence.Verifier. Collateral.JWKS must hold the platform's
// key under its instance id; who hands it in answers for it. Tokens carry no time:
// the realm's challenge, the policy's report data, is what shows freshness.
func (Verifier) Verify(report []byte, c evidence.Collateral, p evidence.Policy) *evidence.Appraisal {
	a := evidence.NewAppraisal(evidence.ArmCca)
	if !a.Clock(&p) {
		return a
	}
	t, err := parse(report)
	if err != nil {
		a.Check("form", err, "")
		return a
	}
	a.Check("form", nil, "a platform token under %s and a realm token under %s, %s", t.platform.alg.name, t.realm.alg.name, t.p.Profile)
	key, err := platformKey(c, t.p.InstanceID)
	if !a.Check("key", err, "of the platform with instance id %x, as it was handed in", t.p.InstanceID) {
		return a
	}
	if !a.Check("platform_signature", t.platform.verify(key), "%s by the platform's key", t.platform.alg.name) {
		return a
	}
	if !a.Check("binding", t.bound(), "the platform vouches for the realm's key by its %s", t.r.KeyHashAlgorithm) {
		return a
	}
	if !a.Check("realm_signature", t.realm.verify(t.r.key), "%s by the realm's key", t.realm.alg.name) {
		return a
	}
	a.Skip("revocation", "there are no lists of platforms' keys: hand in the keys that you trust today")
	a.Claims = t.claims()
	t.demands(a, &p)
	return a
}

// platformKey is the key that was handed in for a platform.
func platformKey(c evidence.Collateral, instance []byte) (*ecdsa.PublicKey, error) {
	if c.JWKS == nil {
		return nil, evidence.Refuse(evidence.Missing, "the platform's key wasn't handed in: a key set that has it under the instance id %x", instance)
	}
	var all []jose.Key
	for _, alg := range []jose.Algorithm{jose.ES256, jose.ES384} {
		keys, err := jose.ParseKeys(c.JWKS, alg)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	k, err := jose.Pick(all, fmt.Sprintf("%x", instance))
	return k.Public, err
}

// bound checks that the platform token holds the digest of the realm's key.
func (t *token) bound() error {
	digest, err := t.r.keyDigest()
	if err != nil {
		return err
	}
	if !bytes.Equal(digest, t.p.Challenge) {
		return evidence.Refuse(evidence.KeyMismatch, "the platform vouches for another realm's key: got digest %x, want %x", digest, t.p.Challenge)
	}
	return nil
}

// The states of a platform's life that are told apart, by the high byte.
const (
	secured    = 0x30
	realmDebug = 0x40 // of all but the platform's root of trust
	rotDebug   = 0x50 // recoverable, of the root of trust
)

func (t *token) state() uint64 { return t.p.Lifecycle >> 8 }

func (t *token) debug() bool { return t.state() == realmDebug || t.state() == rotDebug }

func (t *token) claims() *evidence.Claims {
	d := map[string]string{
		"profile": t.p.Profile, "lifecycle": fmt.Sprintf("%#x", t.p.Lifecycle), "instance_id": fmt.Sprintf("%x", t.p.InstanceID),
		"implementation_id": fmt.Sprintf("%x", t.p.Implementation), "platform_config": fmt.Sprintf("%x", t.p.Config), "hash_algorithm": t.r.HashAlgorithm,
		"personalization_value": fmt.Sprintf("%x", t.r.Personalization),
	}
	for i, m := range t.r.Extensible {
		d[fmt.Sprintf("extensible_measurement_%d", i)] = fmt.Sprintf("%x", m)
	}
	for i, c := range t.p.Software {
		d[fmt.Sprintf("software_%02d", i)] = fmt.Sprintf("%q %q %x signed by %x", c.Type, c.Version, c.Measurement, c.Signer)
	}
	return &evidence.Claims{Measurement: t.r.Initial, ReportData: t.r.Challenge, Debug: t.debug(), TCB: map[string]uint64{"lifecycle": t.p.Lifecycle}, Details: d}
}

// demands holds a genuine token against the policy.
func (t *token) demands(a *evidence.Appraisal, p *evidence.Policy) {
	c := &p.ArmCca
	var err error
	if s := t.state(); s != secured && !t.debug() {
		err = evidence.Refuse(evidence.Unmet, "the platform's lifecycle is %#x, want secured, 0x3000 to 0x30ff", t.p.Lifecycle)
	}
	a.Check("lifecycle", err, "%#x", t.p.Lifecycle)
	a.DemandDebug(p, t.debug(), fmt.Sprintf("the platform's lifecycle is %#x", t.p.Lifecycle))
	a.DemandMeasurement(p, t.r.Initial)
	a.DemandReportData(p, "report_data", evidence.ReportData, t.r.Challenge)
	t.demandSoftware(a, p)
	for i, accepted := range c.ExtensibleMeasurements {
		name := fmt.Sprintf("extensible_measurement_%d", i)
		if i >= len(t.r.Extensible) {
			a.Demand(name, evidence.Unmet, len(accepted) > 0, false, "a realm has %d, and the policy wants one more", len(t.r.Extensible))
			continue
		}
		a.DemandOneOf(name, evidence.Measurement, t.r.Extensible[i], accepted)
	}
	if len(c.PersonalizationValue) > 0 {
		a.DemandOneOf("personalization_value", evidence.HostData, t.r.Personalization, []evidence.Hex{c.PersonalizationValue})
	}
	a.DemandOneOf("implementation_id", evidence.Unmet, t.p.Implementation, c.ImplementationIDs)
	a.DemandOneOf("instance_id", evidence.Unmet, t.p.InstanceID, c.InstanceIDs)
	a.DemandOneOf("platform_config", evidence.Unmet, t.p.Config, c.PlatformConfigs)
}

// demandSoftware holds the platform's firmware against what is acceptable: that
// is its TCB.
func (t *token) demandSoftware(a *evidence.Appraisal, p *evidence.Policy) {
	const name = "tcb"
	accepted := p.ArmCca.SoftwareMeasurements
	switch {
	case len(accepted) == 0 && p.Waives(evidence.AnyTCB):
		a.Skip(name, "%d software components; the policy accepts any", len(t.p.Software))
		return
	case len(accepted) == 0:
		a.Check(name, evidence.Refuse(evidence.Unstated, "the platform runs %d software components, and the policy states none: list their measurements in arm_cca.software_measurements, or accept_without_checking tcb", len(t.p.Software)), "")
		return
	}
	var err error
	for i, c := range t.p.Software {
		known := false
		for _, h := range accepted {
			known = known || bytes.Equal(h, c.Measurement)
		}
		if !known && err == nil {
			err = evidence.Refuse(evidence.TCB, "software component %d, %q, measures %x, which isn't listed", i, c.Type, c.Measurement)
		}
	}
	a.Check(name, err, "all of %d software components are listed", len(t.p.Software))
}
