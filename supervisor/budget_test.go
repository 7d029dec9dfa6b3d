package supervisor_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/wat"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
	"github.com/joulebox/joulebox/supervisor"
)

// steady is a counter of a machine that always draws the same, and whose one
// processor is always busy.
type steady struct {
	begun      time.Time
	milliwatts int64
	fails      time.Duration // from then on; zero is never
	reads      atomic.Int64
}

func (c *steady) Name() string { return "simulated" }
func (c *steady) Domains() []meter.Domain {
	return []meter.Domain{{Key: "simulated", Name: "package-0", Watts: 1000}}
}

func (c *steady) Read() ([]uint64, error) {
	c.reads.Add(1)
	at := time.Since(c.begun)
	if c.fails > 0 && at > c.fails {
		return nil, errors.New("the counter went away")
	}
	return []uint64{uint64(at.Microseconds() * c.milliwatts / 1000)}, nil
}

// aWhile is a time budget, in milliseconds, that no run here is to end by, however
// busy the machine is.
const aWhile = 10 * 60 * 1000

// metered is a house on such a machine.
func metered(t *testing.T, c *steady) func(*supervisor.Config) {
	c.begun = time.Now()
	m := supervisor.NewMeters(meter.DefaultTable(), func() (*meter.Node, error) {
		return meter.NewNode(meter.NodeConfig{Counter: c, Busy: func() (time.Duration, error) { return time.Since(c.begun), nil }})
	})
	if m.Unmeasured != nil {
		t.Fatal(m.Unmeasured)
	}
	return func(config *supervisor.Config) { config.Meters = m.Find }
}

// A unit whose estimate is far within its budget, on a machine that draws much
// more than the model knows; at every tier, and wherever it runs.
func TestMeasuredEnergyBindsTheBudgetWhileTheUnitRuns(t *testing.T) {
	jailed := newHouse(t, metered(t, &steady{milliwatts: 900_000}))
	beside := newHouse(t, metered(t, &steady{milliwatts: 900_000}), inProcess)
	trusted := func(r *supervisor.Request) { r.Placement.Trusted = true }
	clock := func(r *supervisor.Request) { r.Grants.Host.Clock = true }
	t.Run("S2", func(t *testing.T) { measuredBreach(t, jailed) })
	t.Run("S2 beside", func(t *testing.T) { measuredBreach(t, beside) })
	t.Run("S0", func(t *testing.T) { measuredBreach(t, jailed, trusted) })
	t.Run("S0 beside", func(t *testing.T) { measuredBreach(t, beside, trusted) })
	t.Run("S1", func(t *testing.T) { measuredBreach(t, jailed, trusted, clock) })
}

func measuredBreach(t *testing.T, h house, change ...func(*supervisor.Request)) {
	r := request(spins(), append(change, func(r *supervisor.Request) {
		r.Grants.Compute.EnergyBudgetUJ, r.Grants.Compute.CPUTimeMS = 20_000_000, aWhile
	})...)
	record := h.run(t, r, host.BrokerConfig{})
	if got, want := record.Exit.Outcome, joulebox.Terminated(joulebox.BreachEnergy); got != want {
		t.Fatalf("outcome %s, want %s", got, want)
	}
	e := record.Receipt().Devices()[0]
	uj, measured := e.Measured()
	if !measured || e.Provenance() != receipt.HwShunt || uj <= 20_000_000 || e.Estimated() >= 20_000_000 {
		t.Errorf("got %d measured (%v), %d estimated: want the measured one above 20 J, the estimate below", uj, measured, e.Estimated())
	}
	if record.Unmeasured != nil {
		t.Errorf("measured, and yet %v", record.Unmeasured)
	}
	if record.Bundle.Result().ExitCode != nil {
		t.Error("a breach has an exit code (§7.1)")
	}
	if report := h.verify(t, record.Bundle.Marshal()); report.Verdict != bundle.Valid {
		t.Errorf("verdict %s: %v", report.Verdict, report.Failures())
	}
}

// A unit that the estimate would have ended, on a machine that draws less.
func TestTheEstimateDoesNotEndWhatIsMeasured(t *testing.T) {
	h := newHouse(t, metered(t, &steady{milliwatts: 100}))
	// Until it can be measured, the estimate binds: the budget is well above what
	// that is by then.
	r := request(counts(1_500_000_000), func(r *supervisor.Request) {
		r.Grants.Compute.EnergyBudgetUJ, r.Grants.Compute.CPUTimeMS = 5_000_000, aWhile
	})
	record := h.run(t, r, host.BrokerConfig{})
	e := record.Receipt().Devices()[0]
	if e.Estimated() <= 5_000_000 {
		t.Fatalf("the test is wrong: the estimate is %d, within the budget", e.Estimated())
	}
	if uj, measured := e.Measured(); record.Exit.Outcome != joulebox.Completed || !measured || uj > 5_000_000 {
		t.Errorf("outcome %s, %d measured (%v), want Completed within the budget", record.Exit.Outcome, uj, measured)
	}
}

// A counter that goes away leaves no unit without a bound: the estimate binds.
func TestBudgetOutlivesItsCounter(t *testing.T) {
	h := newHouse(t, metered(t, &steady{milliwatts: 100, fails: 150 * time.Millisecond}))
	r := request(spins(), func(r *supervisor.Request) {
		r.Grants.Compute.EnergyBudgetUJ, r.Grants.Compute.CPUTimeMS = 800_000, aWhile
	})
	record := h.run(t, r, host.BrokerConfig{})
	e := record.Receipt().Devices()[0]
	if got, want := record.Exit.Outcome, joulebox.Terminated(joulebox.BreachEnergy); got != want || e.Provenance() != receipt.Estimator || e.Estimated() <= 800_000 {
		t.Errorf("outcome %s, %v with %d estimated, want %s by the estimate", got, e.Provenance(), e.Estimated(), want)
	}
	if record.Unmeasured == nil || !strings.Contains(record.Unmeasured.Error(), "the counter went away") {
		t.Errorf("the reason is %v", record.Unmeasured)
	}
}

// What vector lanes draw is in the processor's measured figure, and isn't added to
// it by their estimate.
func TestVectorsAreNotBoundTwice(t *testing.T) {
	h := newHouse(t, metered(t, &steady{milliwatts: 100}))
	module, err := wat.Assemble([]byte(`(module (func (export "run") (result i32) (local $v v128) (local $n i32)
		(local.set $n (i32.const 1200000000))
		(loop $again
			(local.set $v (i32x4.add (local.get $v) (i32x4.splat (local.get $n))))
			(br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
		(i32.and (i32x4.extract_lane 0 (local.get $v)) (i32.const 0))))`))
	if err != nil {
		t.Fatal(err)
	}
	r := request(module, func(r *supervisor.Request) {
		r.Grants.Compute.Devices = []joulebox.DeviceClass{joulebox.CPU, joulebox.SIMD}
		r.Grants.Compute.EnergyBudgetUJ, r.Grants.Compute.CPUTimeMS = 3_000_000, aWhile
	})
	record := h.run(t, r, host.BrokerConfig{})
	devices := record.Receipt().Devices()
	if len(devices) != 2 || devices[1].Estimated() <= 3_000_000 {
		t.Fatalf("the test is wrong: %+v is not above the budget for vectors alone", devices)
	}
	if uj, ok := devices[0].Measured(); record.Exit.Outcome != joulebox.Completed || !ok || uj > 3_000_000 {
		t.Errorf("outcome %s with %d measured (%v), want Completed", record.Exit.Outcome, uj, ok)
	}
}

// What a counter ended replays to the same state, at the same instruction, though no
// counter is there any more.
func TestMeasuredBreachReplays(t *testing.T) {
	h := newHouse(t, metered(t, &steady{milliwatts: 900_000}))
	image := spins()
	p, err := h.Plan(request(image, func(r *supervisor.Request) {
		r.Grants.Compute.EnergyBudgetUJ, r.Grants.Compute.CPUTimeMS = 20_000_000, aWhile
	}))
	if err != nil {
		t.Fatal(err)
	}
	record, err := h.Run(t.Context(), p, host.BrokerConfig{Journal: &host.JournalConfig{}})
	if err != nil || record.NoJournal != nil {
		t.Fatal(err, record.NoJournal)
	}
	if got, want := record.Exit.Outcome, joulebox.Terminated(joulebox.BreachEnergy); got != want {
		t.Fatalf("outcome %s, want %s", got, want)
	}
	got, err := replayed(t, image, record, record.Journal, &bytes.Buffer{})
	if err != nil || got.Exit.Counts.Units != record.Exit.Counts.Units {
		t.Errorf("got %+v, %v, want %d units", got, err, record.Exit.Counts.Units)
	}
}
