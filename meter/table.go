package meter

import (
	"errors"
	"math/bits"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/toll"
)

// Table is the energy model of a host: constants, and every figure made from it an
// Estimator's, unless it was calibrated (§6.3). All of it is integer arithmetic, so
// identical runs cost identical microjoules under the same table on every machine.
type Table struct {
	// PicojoulesPerUnit is the cost of one metered unit: one scalar instruction.
	PicojoulesPerUnit uint64
	// UnitsPerVector is what one vector instruction costs, in units.
	UnitsPerVector uint64
	// Tolls is what host calls cost, in units.
	Tolls toll.Table
	// MicrojoulesPerCPUSecond is what a second of CPU time costs, for tiers that
	// count no instructions and for programs that a unit starts.
	MicrojoulesPerCPUSecond uint64
	// MicrojoulesPerGiBSecond is what it costs to keep a gibibyte of memory for a
	// second, with nobody at work on it.
	MicrojoulesPerGiBSecond uint64
	// Calibrated says that the table was fitted to this machine's counters: what is
	// made from it is ModelBased.
	Calibrated bool
	// IdleMilliwatts is what this machine draws when nobody works; zero is unknown.
	IdleMilliwatts uint64
}

// DefaultTable is the one place where the constants stand. Their source: the
// published figures of a common server processor, the AMD EPYC 7763 (280 W
// thermal design power, 64 cores, so 4.375 W a core), and 4.4e9 simple
// WebAssembly instructions a second on one such core, which makes about one
// nanojoule an instruction. A 128-bit vector instruction is taken as two scalar
// ones; host calls have a table of their own. Memory that is only kept is taken at an
// eighth of a watt a gibibyte, of the one to two watts that an 8 GiB module of
// DDR4 draws in standby. They are coarse: expect an error of a
// factor of two either way.
func DefaultTable() Table {
	return Table{
		PicojoulesPerUnit:       1000,
		UnitsPerVector:          2,
		Tolls:                   toll.Default(),
		MicrojoulesPerCPUSecond: 4_375_000,
		MicrojoulesPerGiBSecond: 125_000,
	}
}

// CPUTime is the longest CPU time whose energy stays within the budget, at
// least a nanosecond: a bound of zero would be none.
func (t Table) CPUTime(budget joulebox.Microjoules) time.Duration {
	hi, lo := bits.Mul64(uint64(budget), uint64(time.Second))
	if hi >= t.MicrojoulesPerCPUSecond {
		return 1<<63 - 1
	}
	d, _ := bits.Div64(hi, lo, t.MicrojoulesPerCPUSecond)
	return time.Duration(max(1, min(d, 1<<63-1)))
}

const picojoulesPerMicrojoule = 1_000_000

var errTooMuch = errors.New("energy: the estimate overflows 64 bits of microjoules")

// Energy is the cost of units, rounded up: work that was done is never free.
func (t Table) Energy(units uint64) (joulebox.Microjoules, error) {
	return scale(units, t.PicojoulesPerUnit, picojoulesPerMicrojoule)
}

// CPUEnergy is the cost of CPU time, rounded up.
func (t Table) CPUEnergy(d time.Duration) (joulebox.Microjoules, error) {
	if d <= 0 {
		return 0, nil
	}
	return scale(uint64(d), t.MicrojoulesPerCPUSecond, uint64(time.Second))
}

// IdleEnergy is the cost of state that is kept while nothing runs: the CPU time
// that it took all the same, and its memory for as long as it was kept. Rounded up.
func (t Table) IdleEnergy(cpu time.Duration, memory uint64, kept time.Duration) (joulebox.Microjoules, error) {
	awake, err := t.CPUEnergy(cpu)
	if err != nil || kept <= 0 {
		return awake, err
	}
	const kibibyte, kibibytesPerGiB = 1 << 10, 1 << 20
	kibibytes := memory/kibibyte + min(memory%kibibyte, 1)
	for _, part := range []struct{ time, second uint64 }{
		{uint64(kept / time.Second), 1}, {uint64(kept % time.Second), uint64(time.Second)},
	} {
		hi, product := bits.Mul64(kibibytes, part.time)
		uj, err := scale(product, t.MicrojoulesPerGiBSecond, part.second*kibibytesPerGiB)
		if err != nil || hi != 0 {
			return 0, errTooMuch
		}
		if awake, err = awake.Add(uj); err != nil {
			return 0, err
		}
	}
	return awake, nil
}

// Fuel is the largest number of units whose energy stays within the budget: the
// energy budget as a limit that is enforced while the unit runs (§5.1).
func (t Table) Fuel(budget joulebox.Microjoules) uint64 {
	hi, lo := bits.Mul64(uint64(budget), picojoulesPerMicrojoule)
	if hi >= t.PicojoulesPerUnit {
		return 1<<63 - 1
	}
	units, _ := bits.Div64(hi, lo, t.PicojoulesPerUnit)
	return min(units, 1<<63-1)
}

// scaleDown is floor(n*num/den) in 128 bits.
func scaleDown(n, num, den uint64) (joulebox.Microjoules, error) {
	hi, lo := bits.Mul64(n, num)
	if hi >= den {
		return 0, errTooMuch
	}
	q, _ := bits.Div64(hi, lo, den)
	return joulebox.Microjoules(q), nil
}

// scale is ceil(n*num/den) in 128 bits.
func scale(n, num, den uint64) (joulebox.Microjoules, error) {
	hi, lo := bits.Mul64(n, num)
	lo, carry := bits.Add64(lo, den-1, 0)
	hi += carry
	if hi >= den {
		return 0, errTooMuch
	}
	q, _ := bits.Div64(hi, lo, den)
	return joulebox.Microjoules(q), nil
}
