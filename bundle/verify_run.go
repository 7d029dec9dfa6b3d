package bundle

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/journal"
	"github.com/joulebox/joulebox/receipt"
)

// devices checks the receipt's classes against the grant (§5.1) and the
// attestation's identities against the receipt (§7.2).
func (v *verifier) devices() {
	granted := v.b.grants.Compute.Devices
	var classes, identities []joulebox.DeviceClass
	var errs []error
	for _, e := range v.b.receipt.Devices() {
		classes = append(classes, e.Class())
		if !slices.Contains(granted, e.Class()) {
			errs = append(errs, fmt.Errorf("the receipt has a record for %s, which the grant doesn't name", e.Class()))
		}
	}
	for _, d := range v.fields.Devices {
		identities = append(identities, d.Class)
	}
	if err := errors.Join(errs...); err != nil {
		v.add("devices_granted", Fail, "%s", err.Error())
	} else {
		v.add("devices_granted", Pass, "used %v of %v", classes, granted)
	}
	var err error
	if !slices.Equal(classes, identities) {
		err = fmt.Errorf("got identities of %v, want those of the receipt's records, %v", identities, classes)
	}
	v.check("device_identities", err, "one for each record")
}

// outcome checks that the result can have the outcome, and calls tampering what
// it is. The sets of outcomes, breaches and probes are closed: Parse refused others.
func (v *verifier) outcome() {
	o := v.fields.Outcome
	v.check("outcome", v.b.result.Fits(o), o.String())
	if o.Breach().Tampering() {
		v.add("untampered", Fail, "the host itself recorded %s: the run is invalid (§7.5)", o.Breach())
	} else {
		v.add("untampered", Pass, "the host recorded no tampering")
	}
	if p := v.fields.Probing; len(p) > 0 {
		v.add("probing", Pass, "the host saw %v, of the closed set", p)
	} else {
		v.add("probing", Pass, "the host saw none")
	}
}

// manifest checks the environment manifest's address and says who signed it.
func (v *verifier) manifest() {
	const name = "manifest"
	want, m := v.b.unit.Manifest, v.b.manifest
	switch {
	case want.IsZero() && m == nil:
		v.add(name, Skip, "the unit names none")
	case want.IsZero():
		v.add(name, Fail, "one is here, and the unit names none")
	case m == nil:
		v.add(name, Fail, "the unit names %s, and none is here", want)
	case joulebox.Sum(m.Core) != want:
		v.add(name, Fail, "got address %s, want the unit's, %s", joulebox.Sum(m.Core), want)
	default:
		v.check(name, m.Seal.VerifyClaimed(m.Core), fmt.Sprintf("%s, signed by %s", want, v.who(m.Seal)))
	}
}

// who names the signer of something beside the run.
func (v *verifier) who(s attestation.Seal) string {
	pub, err := s.PublicKey()
	if err != nil {
		return err.Error()
	}
	if k, ok := v.o.pinned(pub); ok {
		return fmt.Sprintf("%x, pinned as %q", []byte(pub), k.Name)
	}
	if v.key.Equal(ed25519.PublicKey(pub)) {
		return "the run's own signer"
	}
	v.note("the environment manifest is signed by %x, which isn't pinned: the unit binds its content, and nobody you know vouches for it", []byte(pub))
	return fmt.Sprintf("%x, which isn't pinned", []byte(pub))
}

// journal recomputes the journal's root (§8).
func (v *verifier) journal() {
	const name = "journal_root"
	want := v.fields.JournalRoot
	switch {
	case want.IsZero() && v.b.raw.journal == nil:
		v.add(name, Skip, "no journal was kept")
	case want.IsZero():
		v.add(name, Fail, "a journal is here, and the attestation states no root")
	case v.b.raw.journal == nil:
		v.add(name, Skip, "the attestation states %s, and the journal isn't in the file", want)
		v.note("the run has a journal that isn't in the file: its root %s is the host's word until it is replayed", want)
	default:
		got, n, err := journal.Root(v.b.raw.journal)
		if err == nil && got != want {
			err = fmt.Errorf("got %s from %d entries, want the attestation's, %s", got, n, want)
		}
		v.check(name, err, fmt.Sprintf("%s, over %d entries; not replayed here", want, n))
	}
}

// evidence checks what S6 and S7 claim (§7.6, §7.7).
func (v *verifier) evidence() {
	v.locality()
	const name = "evidence"
	e, tier := v.b.evidence, v.fields.Tier
	switch {
	case tier < joulebox.S6 && e == nil:
		v.add(name, Skip, "%s has none", tier)
		v.note("tier asserted by the host: below S6 nothing in the file proves that the boundary of %s was there (§7.5)", tier)
	case tier < joulebox.S6:
		v.add(name, Fail, "evidence is here, and %s has none", tier)
	case e == nil:
		v.add(name, Unknown, "the hardware evidence that %s needs isn't in the file", tier)
	case e.Kind != v.fields.TEE.Kind:
		v.add(name, Fail, "got evidence of kind %s, want the attestation's, %s", e.Kind, v.fields.TEE.Kind)
	case v.o.Evidence == nil:
		v.add(name, Unknown, "the %s report wasn't verified: no verifier for it was given", e.Kind)
	default:
		v.hardware(e)
	}
}

// hardware has the evidence verified, and compares what it says with what the
// attestation says of it: kind, measurement and every part of the TCB.
func (v *verifier) hardware(e *Evidence) {
	const name = "evidence"
	checks, says := v.o.Evidence(e, ReportData(v.b.eat.Nonce, v.key))
	var open bool
	for _, c := range checks {
		v.add(name+"_"+c.Name, c.Status, "%s", c.Detail)
		open = open || c.Status == Fail || c.Status == Unknown
	}
	want := *v.fields.TEE
	switch {
	case says == nil && open:
		v.add(name, Skip, "the attestation's summary isn't compared: the %s report isn't shown to be genuine", e.Kind)
	case says == nil:
		v.add(name, Fail, "BUG(joulebox): nothing failed, and nothing was found")
	case says.Kind != want.Kind || says.Measurement != want.Measurement || !maps.Equal(says.TCB, want.TCB):
		v.add(name, Fail, "got %+v from the report, want what the attestation says, %+v", *says, want)
	default:
		v.add(name, Pass, "%s report, down to its vendor's root; it says what the attestation says", e.Kind)
	}
}

// ReportData is the 64 bytes that a hardware report must carry to be this run's
// (§7.6): attestation.RunNonce, then the digest of the host's public key.
func ReportData(nonce [32]byte, host ed25519.PublicKey) (data [64]byte) {
	id := attestation.KeyID(host)
	copy(data[:], nonce[:])
	copy(data[32:], id[:])
	return data
}

// energyNotes say what each figure is worth (§6.3).
func (v *verifier) energyNotes() {
	for _, e := range v.b.receipt.Devices() {
		switch e.Provenance() {
		case receipt.Estimator:
			v.note("%s energy is a coarse estimate (Estimator), not a measurement", e.Class())
		case receipt.ModelBased:
			v.note("%s energy comes from a model (ModelBased)", e.Class())
		}
		if v.fields.Tier >= joulebox.S5 && e.Provenance() != receipt.HwShunt {
			v.note("%s energy wasn't measured: whether the host had an interface to measure it with, which %s must use (§6.3), can't be seen from here", e.Class(), v.fields.Tier)
		}
	}
	used, budget := v.b.receipt.Total().Bound(), v.b.grants.Compute.EnergyBudgetUJ
	if used > budget && v.fields.Outcome.Breach() == "" {
		v.note("the run used %d microjoules of a budget of %d and isn't recorded as a breach", used, budget)
	}
}
