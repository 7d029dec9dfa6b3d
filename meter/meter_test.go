package meter_test

import (
	"math"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/meter/metertest"
)

func cpu() meter.Identity  { return meter.HostCPU(joulebox.CPU) }
func simd() meter.Identity { return meter.HostCPU(joulebox.SIMD) }

func TestContract(t *testing.T) {
	table := meter.DefaultTable()
	for name, m := range map[string]meter.Meter{
		"instructions": meter.Instructions(cpu(), table),
		"vectors":      meter.Vectors(simd(), table),
		"cpu time":     meter.CPUTime(cpu(), table),
		"powercap":     onTree(t, tree(t, socket("package-0", 5))).node.Measured(meter.CPUTime(cpu(), table)),
	} {
		t.Run(name, func(t *testing.T) { metertest.Contract(t, m) })
	}
}

// Where energy follows from counts alone, equal counts cost the same a hundred
// times, to the microjoule.
func TestEqualCountsCostTheSame(t *testing.T) {
	table := meter.DefaultTable()
	for _, m := range []meter.Meter{meter.Instructions(cpu(), table), meter.Vectors(simd(), table), meter.CPUTime(cpu(), table)} {
		var first joulebox.Microjoules
		for i := range 100 {
			span, err := m.Begin(t.Context(), func() meter.Counts {
				return meter.Counts{Units: 123_456_789, Vectors: 4321, CPUTime: 987_654_321}
			})
			if err != nil {
				t.Fatal(err)
			}
			e, _, err := span.Read()
			if i == 0 {
				first = e.Estimated()
			}
			if err != nil || first == 0 || e.Estimated() != first {
				t.Errorf("%s: got %d, %v, want %d", m.Class(), e.Estimated(), err, first)
			}
		}
	}
}

func TestEnergyRoundsUpAndNeverWraps(t *testing.T) {
	table := meter.DefaultTable()
	for units, want := range map[uint64]joulebox.Microjoules{0: 0, 1: 1, 1000: 1, 1001: 2, 5_000_000: 5000} {
		if got, err := table.Energy(units); err != nil || got != want {
			t.Errorf("Energy(%d) = %d, %v; want %d", units, got, err, want)
		}
	}
	table.PicojoulesPerUnit = math.MaxUint64
	if got, err := table.Energy(math.MaxUint64); err == nil {
		t.Errorf("an energy past 64 bits came back as %d", got)
	}
}

// The fuel of a budget is the most units whose energy is within it.
func TestFuelIsExactlyTheBudget(t *testing.T) {
	for _, pico := range []uint64{1, 3, 700, 1000, 999_999, 1_000_000, 7_654_321} {
		table := meter.Table{PicojoulesPerUnit: pico}
		for _, budget := range []joulebox.Microjoules{1, 2, 999, 5_000_000, 1 << 40} {
			fuel := table.Fuel(budget)
			within, err := table.Energy(fuel)
			if err != nil || within > budget {
				t.Errorf("%d pJ a unit: %d units cost %d of %d (%v)", pico, fuel, within, budget, err)
			}
			if over, err := table.Energy(fuel + 1); err == nil && over <= budget {
				t.Errorf("%d pJ a unit: one unit more than %d is still within %d", pico, fuel, budget)
			}
		}
	}
}

func TestUnusedVectorsHaveNoRecord(t *testing.T) {
	span, err := meter.Vectors(simd(), meter.DefaultTable()).Begin(t.Context(), func() meter.Counts { return meter.Counts{Units: 9} })
	if err != nil {
		t.Fatal(err)
	}
	if _, used, err := span.Read(); used || err != nil {
		t.Errorf("used = %v, %v: a class that was not used has no record (§6.2)", used, err)
	}
}

func TestIdleEnergy(t *testing.T) {
	table := meter.DefaultTable()
	for _, c := range []struct {
		cpu    time.Duration
		memory uint64
		kept   time.Duration
		want   joulebox.Microjoules
	}{
		{0, 0, time.Hour, 0},
		{0, 1 << 30, time.Second, 125_000},
		{0, 1 << 20, time.Hour, 439_454},         // 125000 × 3600 / 1024, rounded up
		{time.Millisecond, 0, time.Second, 4375}, // it woke
		{0, 1, time.Nanosecond, 1},
		{0, 1 << 30, -time.Second, 0},
	} {
		got, err := table.IdleEnergy(c.cpu, c.memory, c.kept)
		if err != nil || got != c.want {
			t.Errorf("%v awake, %d bytes for %v: got %d, %v, want %d", c.cpu, c.memory, c.kept, got, err, c.want)
		}
	}
	if _, err := table.IdleEnergy(0, math.MaxUint64, math.MaxInt64); err == nil {
		t.Error("an overflow is let through")
	}
}
