package meter

import (
	"context"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/receipt"
)

// Instructions estimates the Cpu class from metered units, for tiers that count
// instructions (S2 and what shares its counting).
func Instructions(id Identity, t Table) Meter {
	return model{id, t.Calibrated, func(c Counts) (joulebox.Microjoules, bool, error) {
		uj, err := t.Energy(c.Units)
		return uj, true, err
	}}
}

// Vectors estimates the Simd class from counted vector instructions. The class
// was used only if there were any.
func Vectors(id Identity, t Table) Meter {
	return model{id, t.Calibrated, func(c Counts) (joulebox.Microjoules, bool, error) {
		uj, err := t.Energy(c.Vectors * t.UnitsPerVector)
		return uj, c.Vectors > 0, err
	}}
}

// CPUTime estimates the Cpu class from CPU time, for tiers that count nothing
// else (S0, S1).
func CPUTime(id Identity, t Table) Meter {
	return model{id, t.Calibrated, func(c Counts) (joulebox.Microjoules, bool, error) {
		uj, err := t.CPUEnergy(c.CPUTime)
		return uj, true, err
	}}
}

// model is a meter that computes from counts: never measured (§6.3).
type model struct {
	id         Identity
	calibrated bool
	cost       func(Counts) (uj joulebox.Microjoules, used bool, err error)
}

func (m model) Class() joulebox.DeviceClass { return m.id.Class }
func (m model) Identity() Identity          { return m.id }

func (m model) Begin(_ context.Context, counts Source) (Span, error) {
	return modelSpan{m, counts}, nil
}

type modelSpan struct {
	model
	counts Source
}

func (s modelSpan) Read() (receipt.Energy, bool, error) {
	uj, used, err := s.cost(s.counts())
	if err != nil {
		return receipt.Energy{}, false, err
	}
	if s.calibrated {
		return receipt.Modelled(s.id.Class, uj), used, nil
	}
	return receipt.Estimated(s.id.Class, uj), used, nil
}

func (modelSpan) Close() error { return nil }
