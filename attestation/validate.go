package attestation

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
)

// maxUS is the last integer that every JSON reader agrees on.
const maxUS = 1<<53 - 1

// Validate reports the first member that §7 doesn't allow.
func (f Fields) Validate() error {
	for _, check := range []func() error{f.checkIDs, f.checkTier, f.checkDevices, f.checkWindow, f.checkProbing} {
		if err := check(); err != nil {
			return err
		}
	}
	if !f.Outcome.Valid() {
		return errors.New("outcome: want Completed, Failed or Terminated with a breach of the closed set")
	}
	return nil
}

func (f Fields) checkIDs() error {
	for _, m := range []struct {
		name string
		id   joulebox.ID
	}{
		{"result_id", f.ResultID}, {"unit_id", f.UnitID}, {"image_id", f.ImageID},
		{"grants_id", f.GrantsID}, {"receipt_id", f.ReceiptID}, {"host_id", f.HostID},
	} {
		if m.id.IsZero() {
			return fmt.Errorf("%s: is the zero id, which addresses nothing", m.name)
		}
	}
	return nil
}

// checkTier holds the members that come with a tier (§7.6, §7.7).
func (f Fields) checkTier() error {
	if f.Tier > joulebox.S7 {
		return fmt.Errorf("tier: got %d, want S0 to S7", uint8(f.Tier))
	}
	for _, m := range []struct {
		name string
		has  bool
		from joulebox.Tier
	}{
		{"tee", f.TEE != nil, joulebox.S6}, {"locality", f.Locality != nil, joulebox.S7}, {"audit_prev", f.AuditPrev != nil, joulebox.S7},
	} {
		if m.has != (f.Tier >= m.from) {
			return fmt.Errorf("%s: got present=%v at %s, want it from %s on and only there", m.name, m.has, f.Tier, m.from)
		}
	}
	if f.TEE != nil {
		if err := f.TEE.check(); err != nil {
			return err
		}
	}
	if l := f.Locality; l != nil && (l.Region == "" || l.Jurisdiction == "") {
		return fmt.Errorf("locality: got region %q and jurisdiction %q, want both named (§7.7)", l.Region, l.Jurisdiction)
	}
	return nil
}

func (f Fields) checkDevices() error {
	if len(f.Devices) == 0 {
		return errors.New("devices: got no identity, want one for each class used (§7.2)")
	}
	for i, d := range f.Devices {
		switch {
		case d.Class > joulebox.Quantum:
			return fmt.Errorf("devices[%d].class: got %d, want one of the eight", i, uint8(d.Class))
		case d.Model == "" || d.Driver == "":
			return fmt.Errorf("devices[%d]: got model %q and driver %q for %s, want both named (§7.2)", i, d.Model, d.Driver, d.Class)
		case i > 0 && d.Class == f.Devices[i-1].Class:
			return fmt.Errorf("devices[%d]: a second identity for %s, want one a class", i, d.Class)
		case i > 0 && d.Class < f.Devices[i-1].Class:
			return fmt.Errorf("devices[%d]: %s after %s, want the order of §2.3", i, d.Class, f.Devices[i-1].Class)
		}
	}
	return nil
}

func (f Fields) checkWindow() error {
	if f.FinishedAtUS > maxUS {
		return fmt.Errorf("finished_at_us: got %d, want at most 2^53-1", f.FinishedAtUS)
	}
	if f.StartedAtUS > f.FinishedAtUS {
		return fmt.Errorf("finished_at_us: got %d, want no earlier than started_at_us, %d", f.FinishedAtUS, f.StartedAtUS)
	}
	return nil
}
