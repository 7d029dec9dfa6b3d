package meter_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/meter/metertest"
	"github.com/joulebox/joulebox/receipt"
)

func cpu() meter.Identity  { return meter.HostCPU(joulebox.CPU) }
func simd() meter.Identity { return meter.HostCPU(joulebox.SIMD) }

func TestContract(t *testing.T) {
	table := meter.DefaultTable()
	for name, m := range map[string]meter.Meter{
		"instructions": meter.Instructions(cpu(), table),
		"vectors":      meter.Vectors(simd(), table),
		"cpu time":     meter.CPUTime(cpu(), table),
		"rapl":         raplOn(t, tree(t, zoneFiles{"package-0", 1 << 40, 5})),
	} {
		t.Run(name, func(t *testing.T) { metertest.Contract(t, m) })
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

type zoneFiles struct {
	name       string
	span, read uint64
}

func write(t *testing.T, path, value string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree is shaped as the kernel's: sockets as intel-rapl:N, a core sub-zone in
// each, and psys beside them, which holds everything and must not be summed.
func tree(t *testing.T, zones ...zoneFiles) string {
	t.Helper()
	root := t.TempDir()
	for i, z := range append(zones, zoneFiles{"psys", 1 << 40, 77}) {
		dir := filepath.Join(root, "intel-rapl:"+strconv.Itoa(i))
		sub := filepath.Join(root, "intel-rapl:"+strconv.Itoa(i)+":0")
		for _, d := range []string{dir, sub} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(d, "energy_uj"), strconv.FormatUint(z.read, 10))
			write(t, filepath.Join(d, "max_energy_range_uj"), strconv.FormatUint(z.span, 10))
		}
		write(t, filepath.Join(dir, "name"), z.name)
		write(t, filepath.Join(sub, "name"), "core")
	}
	return root
}

func set(t *testing.T, root string, zone int, value uint64) {
	write(t, filepath.Join(root, "intel-rapl:"+strconv.Itoa(zone), "energy_uj"), strconv.FormatUint(value, 10))
}

func raplOn(t *testing.T, root string) meter.Meter {
	t.Helper()
	m, err := meter.RAPL(root, meter.CPUTime(cpu(), meter.DefaultTable()), func() (time.Duration, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// window runs one span over a tree and returns its record. The host is busy for
// busy of the window and the run for own.
func window(t *testing.T, root string, busy, own time.Duration, change func()) receipt.Energy {
	t.Helper()
	var host, run time.Duration
	m, err := meter.RAPL(root, meter.CPUTime(cpu(), meter.DefaultTable()), func() (time.Duration, error) { return host, nil })
	if err != nil {
		t.Fatal(err)
	}
	span, err := m.Begin(context.Background(), func() meter.Counts { return meter.Counts{CPUTime: run} })
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(110 * time.Millisecond)
	host, run = host+busy, run+own
	change()
	e, _, err := span.Read()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRAPLSumsPackagesAndSharesByCPUTime(t *testing.T) {
	root := tree(t, zoneFiles{"package-0", 1000, 900}, zoneFiles{"package-1", 1 << 40, 50})
	e := window(t, root, 400*time.Millisecond, 100*time.Millisecond, func() {
		set(t, root, 0, 300) // wrapped at its own range: 1000-900+300
		set(t, root, 1, 250)
		set(t, root, 2, 99_999) // psys holds both already
	})
	got, measured := e.Measured()
	if !measured || got != (400+200)/4 || e.Provenance() != receipt.HwShunt {
		t.Errorf("got %d (measured %v), want a quarter of 600", got, measured)
	}
}

func TestRAPLClaimsNothingItDidNotRead(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, root string){
		"removed":          func(t *testing.T, root string) { os.RemoveAll(filepath.Join(root, "intel-rapl:0")) },
		"garbage":          func(t *testing.T, root string) { write(t, filepath.Join(root, "intel-rapl:0", "energy_uj"), "n/a") },
		"beyond its range": func(t *testing.T, root string) { set(t, root, 0, 5) },
		"empty counter":    func(t *testing.T, root string) { write(t, filepath.Join(root, "intel-rapl:0", "energy_uj"), "") },
		"negative counter": func(t *testing.T, root string) { write(t, filepath.Join(root, "intel-rapl:0", "energy_uj"), "-4") },
		"more than 64 bits": func(t *testing.T, root string) {
			write(t, filepath.Join(root, "intel-rapl:0", "energy_uj"), strings.Repeat("9", 30))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, zoneFiles{"package-0", 100, 900})
			e := window(t, root, time.Second, time.Second/2, func() { change(t, root) })
			if got, measured := e.Measured(); measured || e.Provenance() != receipt.Estimator {
				t.Errorf("claims %d µJ measured", got)
			}
		})
	}
	root := tree(t, zoneFiles{"package-0", 1 << 40, 0})
	e := window(t, root, time.Second, 2*time.Second, func() { set(t, root, 0, 5000) })
	if got, measured := e.Measured(); measured {
		t.Errorf("a run busier than its whole host is given %d µJ", got)
	}
}

func TestRAPLShortRunIsNotMeasured(t *testing.T) {
	root := tree(t, zoneFiles{"package-0", 1 << 40, 0})
	span, err := raplOn(t, root).Begin(t.Context(), func() meter.Counts { return meter.Counts{CPUTime: time.Millisecond} })
	if err != nil {
		t.Fatal(err)
	}
	set(t, root, 0, 5000)
	if e, _, err := span.Read(); err != nil || e.Provenance() != receipt.Estimator {
		t.Errorf("got %v, %v; want an estimate for a window below the counter's update period", e.Provenance(), err)
	}
}

func TestRAPLUnavailableSaysWhy(t *testing.T) {
	estimate := meter.CPUTime(cpu(), meter.DefaultTable())
	for name, root := range map[string]string{"absent": filepath.Join(t.TempDir(), "none"), "psys only": tree(t)} {
		if _, err := meter.RAPL(root, estimate, meter.BusyCPU); !errors.Is(err, meter.ErrNotMeasured) {
			t.Errorf("%s: %v, want ErrNotMeasured", name, err)
		}
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
