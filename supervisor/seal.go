package supervisor

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
)

// finished is a run that has ended, before anything is signed.
type finished struct {
	exit     host.Exit
	result   bundle.Result
	energy   []receipt.Energy
	idle     joulebox.Microjoules // that the run's process drew before it (§15)
	devices  []attestation.Device
	probing  []attestation.Probe
	journal  joulebox.ID // the root; zero without one
	from, to time.Time

	denials    []host.Denial
	logDropped uint64
	unmeasured error
}

// seal signs what the run was and verifies the seal as a stranger would, before
// anything of it is let out.
func (s *Supervisor) seal(p *Plan, f finished, sequence uint64) (*bundle.Bundle, error) {
	parts, err := s.parts(p, f, sequence)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Assemble(s.config.Signer, parts)
	if err != nil {
		return nil, err
	}
	return b, s.check(p, b)
}

func (s *Supervisor) parts(p *Plan, f finished, sequence uint64) (parts bundle.Parts, err error) {
	var nonce [receipt.NonceSize]byte
	if _, err := io.ReadFull(s.config.Rand, nonce[:]); err != nil {
		return parts, fmt.Errorf("no nonce: %w", err)
	}
	parts = bundle.Parts{Unit: p.Unit, Result: f.result, Image: p.imageObject()}
	if parts.Receipt, err = receipt.New(p.UnitID, p.Tier, sequence, nonce, f.energy); err != nil {
		return parts, err
	}
	result, err := f.result.Canonical()
	if err != nil {
		return parts, err
	}
	parts.Known = bundle.Known{Unit: p.unitBytes, Grants: &p.Grants, Result: result}
	parts.Statement, err = attestation.New(attestation.Fields{
		ResultID:     joulebox.Sum(result),
		UnitID:       p.UnitID,
		ImageID:      p.Unit.ImageID,
		GrantsID:     p.GrantsID,
		Tier:         p.Tier,
		Devices:      f.devices,
		ReceiptID:    parts.Receipt.ID(),
		Outcome:      f.exit.Outcome,
		HostID:       attestation.KeyID(s.public),
		StartedAtUS:  microseconds(f.from),
		FinishedAtUS: microseconds(f.to),
		Probing:      f.probing,
		JournalRoot:  f.journal,
		EnergyModel:  s.config.EnergyModel,
	})
	return parts, err
}

// check is the verifier's whole list over our own bundle, under our own key.
func (s *Supervisor) check(p *Plan, b *bundle.Bundle) error {
	report := b.Verify(bundle.Options{
		Pinned:      []bundle.Key{{Name: "this host", Public: s.public}},
		Challenge:   p.Unit.Challenge,
		MultiTenant: s.config.MultiTenant,
		Brief:       true,
	})
	if p.tampered || report.Verdict == bundle.Valid {
		return nil // a tampered run is sealed as what it is: its verdict is invalid
	}
	var errs []error
	for _, c := range append(report.Failures(), report.Missing()...) {
		errs = append(errs, fmt.Errorf("%s: %s", c.Name, c.Detail))
	}
	return fmt.Errorf("BUG(joulebox): the record does not verify, so it is not handed out: %w", errors.Join(errs...))
}

// tampering recomputes the ids from what was enforced and run; a difference is
// tampering and ends in its own outcome (§1.2, §7.5).
func (p *Plan) tampering(enforcedGrants grant.Set) (joulebox.Breach, bool) {
	enforced, err := enforcedGrants.ID()
	if err != nil || enforced != p.GrantsID {
		return joulebox.GrantMutation, true
	}
	if !p.imageIntact() {
		return joulebox.ImageMutation, true
	}
	return "", false
}

// read takes the final figure of every class that the run used.
func read(spans []meter.Span) (energy []receipt.Energy, err error) {
	for _, span := range spans {
		e, used, err := span.Read()
		if err != nil {
			return nil, err
		}
		if used {
			energy = append(energy, e)
		}
	}
	return energy, nil
}

func identities(meters []meter.Meter, energy []receipt.Energy) (devices []attestation.Device) {
	used := map[joulebox.DeviceClass]bool{}
	for _, e := range energy {
		used[e.Class()] = true
	}
	for _, m := range meters {
		if id := m.Identity(); used[id.Class] {
			devices = append(devices, attestation.Device{Class: id.Class, Model: id.Model, Driver: id.Driver})
		}
	}
	return devices
}

func microseconds(t time.Time) uint64 { return uint64(max(0, t.UnixMicro())) }
