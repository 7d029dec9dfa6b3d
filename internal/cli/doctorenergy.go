package cli

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/supervisor"
)

// examineModel is the table that runs are priced by, and where it is from.
func examineModel() (meter.Table, finding) {
	f := finding{Name: "model", OK: true, Detail: "constants of a common processor, wrong by a factor of two either way; joulebox calibrate makes one of this host"}
	info, err := custody.Show(custody.DefaultReference)
	if err != nil {
		return meter.DefaultTable(), f // without a key there is no model that it sealed
	}
	m, err := hostModel(ed25519.PublicKey(info.Public))
	if err != nil {
		f.OK, f.Detail = false, err.Error()
	}
	if m == nil {
		return meter.DefaultTable(), f
	}
	id, err := m.ID()
	if err != nil {
		return meter.DefaultTable(), finding{f.Name, false, err.Error()}
	}
	f.Detail = fmt.Sprintf("%s, from %s", id, m.Reference)
	if m.Source == meter.SourceCounter {
		f.Detail += fmt.Sprintf(", within %d.%d %% of it", m.ErrorPermille/10, m.ErrorPermille%10)
	}
	return m.Table(), f
}

func examineMeters(m *supervisor.Meters, t meter.Table) (list []finding) {
	for _, class := range joulebox.DeviceClasses() {
		list = append(list, examineMeter(m, t, class))
	}
	if uw, err := meter.BatteryPower(meter.BatteryRoot); err == nil {
		list = append(list, finding{"battery", true, fmt.Sprintf("the whole machine draws %d mW just now; no record is made of it", uw/1000)})
	}
	return list
}

func examineMeter(m *supervisor.Meters, t meter.Table, class joulebox.DeviceClass) finding {
	f := finding{Name: class.String()}
	_, f.OK = m.Find(host.CountsInstructions, class)
	estimate := "Estimator"
	if t.Calibrated {
		estimate = "ModelBased"
	}
	switch {
	case class == joulebox.GPU:
		f.Detail = describeGPUs(m.GPUs())
	case !f.OK:
		f.Detail = noMeter
	case class != joulebox.CPU:
		f.Detail = estimate + ", from counted vector instructions"
	case m.Unmeasured != nil:
		f.Detail = fmt.Sprintf("%s, from counted work; %v", estimate, m.Unmeasured)
	default:
		f.Detail = describeCounter(m.Node.Counter(), estimate)
	}
	return f
}

// describeCounter reads a counter for a second: virtual machines may show one that
// stands.
func describeCounter(c meter.Counter, estimate string) string {
	mw, err := meter.IdlePower(context.Background(), c, 1, meter.Now, meter.Sleep)
	if err != nil {
		return fmt.Sprintf("%s, from counted work; %s: %v", estimate, c.Name(), err)
	}
	return fmt.Sprintf("HwShunt, from %s, which drew %d.%03d W just now; %s for runs that are too short for it", c.Name(), mw/1000, mw%1000, estimate)
}

const noMeter = "nothing here meters it, so it can't be granted"

// describeGPUs says of each device what meters it, or why nothing does. That a
// class has a meter isn't that it is granted: no executor here confines it.
func describeGPUs(list []meter.GPU) string {
	if len(list) == 0 {
		return noMeter
	}
	var s string
	for i, g := range list {
		if i > 0 {
			s += "; "
		}
		if g.Meter == nil {
			s += fmt.Sprintf("%s: %v", g.Identity.Model, g.Why)
			continue
		}
		id := g.Meter.Identity()
		s += fmt.Sprintf("%s (%s) can be metered", id.Model, id.Driver)
	}
	return s + "; nothing here confines it, so it can't be granted"
}
