package cli

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/receipt"
)

// energyKeys are what energy can be summed by, in the order of the columns.
var energyKeys = []string{"day", "unit", "image", "tier", "outcome", "device", "provenance"}

// energyRow is the energy of the runs, or of their device classes, that have the
// same values. Figures that counters gave and figures that were worked out are
// never added up to one.
type energyRow struct {
	Key         []string `json:"key"`
	Runs        uint64   `json:"runs"`
	MeasuredUJ  uint64   `json:"measured_uj"`  // of the runs that have such a figure
	EstimatedUJ uint64   `json:"estimated_uj"` // of those that have no other
	IdleUJ      uint64   `json:"idle_uj"`      // within the two: drawn by a kept process before its run
	// Emissions is what the energy emits, where an intensity was given.
	Emissions *emissions `json:"emissions,omitzero"`
}

// emissions follows the Software Carbon Intensity: operational plus embodied, and
// per run.
type emissions struct {
	Operational float64 `json:"operational_gco2e"`
	Embodied    float64 `json:"embodied_gco2e"`
	SCI         float64 `json:"sci_gco2e_per_run"`
}

// energySum adds records up.
type energySum struct {
	by   []string
	rows map[string]*energyRow
}

func newEnergySum(by []string) (*energySum, error) {
	for i, k := range by {
		if !slices.Contains(energyKeys, k) || slices.Contains(by[:i], k) {
			return nil, fmt.Errorf("--by: got %q, want each once of %s", k, strings.Join(energyKeys, ", "))
		}
	}
	return &energySum{by: by, rows: map[string]*energyRow{}}, nil
}

// add adds one run, once in each row that it belongs to.
func (s *energySum) add(b *bundle.Bundle) error {
	seen := map[*energyRow]bool{}
	for _, e := range b.Receipt().Devices() {
		row := s.row(b, e)
		if !seen[row] {
			seen[row] = true
			row.Runs++
		}
		if err := row.add(e); err != nil {
			return fmt.Errorf("%s: %w", b.Receipt().ID(), err)
		}
		if e.Class() == joulebox.CPU {
			row.IdleUJ += b.Result().Usage.IdleUJ // part of what was added without overflow
		}
	}
	return nil
}

func (s *energySum) row(b *bundle.Bundle, e receipt.Energy) *energyRow {
	f := b.Statement().Fields()
	all := map[string]string{
		"day":  time.UnixMicro(int64(f.StartedAtUS)).UTC().Format(time.DateOnly),
		"unit": f.UnitID.String(), "image": f.ImageID.String(), "tier": f.Tier.String(), "outcome": f.Outcome.String(),
		"device": e.Class().String(), "provenance": e.Provenance().String(),
	}
	key := make([]string, len(s.by))
	for i, k := range s.by {
		key[i] = all[k]
	}
	at := strings.Join(key, "\x00")
	if s.rows[at] == nil {
		s.rows[at] = &energyRow{Key: key}
	}
	return s.rows[at]
}

func (r *energyRow) add(e receipt.Energy) (err error) {
	if m, ok := e.Measured(); ok {
		r.MeasuredUJ, err = addJoules(r.MeasuredUJ, uint64(m))
	} else {
		r.EstimatedUJ, err = addJoules(r.EstimatedUJ, uint64(e.Estimated()))
	}
	return err
}

func addJoules(a, b uint64) (uint64, error) {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return 0, fmt.Errorf("the sum of energy is larger than %d microjoules can say", uint64(1<<64-1))
	}
	return sum, nil
}

// sorted are the rows in the order of their keys.
func (s *energySum) sorted() []energyRow {
	list := make([]energyRow, 0, len(s.rows))
	for _, r := range s.rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b energyRow) int { return slices.Compare(a.Key, b.Key) })
	return list
}

const microjoulesPerKWh = 3.6e12

// emit works out emissions of each row, for an intensity in gCO2e per kWh and
// embodied emissions in gCO2e per run.
func emit(rows []energyRow, intensity, embodied float64) {
	for i := range rows {
		r := &rows[i]
		e := emissions{
			Operational: (float64(r.MeasuredUJ) + float64(r.EstimatedUJ)) / microjoulesPerKWh * intensity,
			Embodied:    embodied * float64(r.Runs),
		}
		e.SCI = (e.Operational + e.Embodied) / float64(r.Runs)
		r.Emissions = &e
	}
}
