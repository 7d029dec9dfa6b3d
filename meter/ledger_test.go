package meter_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
)

// simulated is a counter of two packages, the second of which wraps often.
type simulated struct {
	values [2]uint64
	drawn  uint64
}

func (s *simulated) Name() string { return "simulated" }
func (s *simulated) Domains() []meter.Domain {
	return []meter.Domain{
		{Key: "0", Name: "package-0", Range: wide, Watts: 1000},
		{Key: "1", Name: "package-1", Range: 70_000_000_000, Watts: 1000},
	}
}
func (s *simulated) Read() ([]uint64, error) { return append([]uint64(nil), s.values[:]...), nil }

func (s *simulated) draw(uj [2]uint64) {
	for i, d := range s.Domains() {
		s.values[i] = (s.values[i] + uj[i]) % d.Range
		s.drawn += uj[i]
	}
}

func balance(t *testing.T, m *machine) meter.Totals {
	t.Helper()
	got := m.node.Totals()
	if got.Drawn != got.Attributed+got.Others+got.Idle {
		t.Errorf("%+v: drawn %d, want %d", got, got.Drawn, got.Attributed+got.Others+got.Idle)
	}
	return got
}

// A thousand runs that overlap at random, among other work: what they are given,
// what others are, and what is idle add up to what the counters showed, to the
// microjoule, and no run is given what another has.
func TestConservationOverAThousandOverlappingRuns(t *testing.T) {
	for _, floor := range []uint64{0, 90_000} {
		random := rand.New(rand.NewPCG(7, floor))
		counter := &simulated{values: [2]uint64{wide - 1000, 69_999_999_000}}
		m := newMachine(t, counter, floor)
		var exact, sum uint64
		var open []*task
		finish := func(i int) {
			r := open[i]
			open = append(open[:i], open[i+1:]...)
			e := r.read(t)
			if uj, ok := e.Measured(); ok {
				sum += uint64(uj)
			} else if e.Provenance() != receipt.Estimator {
				t.Errorf("provenance %v without a figure", e.Provenance())
			}
			if err := r.span.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for begun := 0; begun < 1000 || len(open) > 0; {
			if begun < 1000 && (len(open) == 0 || len(open) < 60 && random.IntN(3) > 0) {
				open = append(open, m.begin(t))
				begun++
			} else if random.IntN(2) == 0 {
				finish(random.IntN(len(open)))
				continue
			}
			step := time.Duration(1+random.IntN(40)) * time.Millisecond
			m.pass(step)
			busy := time.Duration(random.IntN(int(step))) // of others
			for _, r := range open {
				if random.IntN(4) > 0 {
					d := time.Duration(random.IntN(int(step)))
					r.cpu, busy = r.cpu+d, busy+d
				}
			}
			m.busy += busy
			before := counter.drawn
			counter.draw([2]uint64{uint64(step/time.Microsecond) * (100 + random.Uint64N(200)), uint64(step/time.Microsecond) * (90 + random.Uint64N(100))})
			exact += counter.drawn - before
			if random.IntN(5) == 0 {
				_ = open[random.IntN(len(open))].read(t) // a budget is looked at
			}
		}
		got := balance(t, m)
		if uint64(got.Attributed) != sum {
			t.Errorf("floor %d: records have %d, the ledger gave %d", floor, sum, got.Attributed)
		}
		if uint64(got.Drawn) != exact {
			t.Errorf("floor %d: the counters drew %d, the ledger has %d", floor, exact, got.Drawn)
		}
		if got.Attributed == 0 || got.Others == 0 || floor > 0 && got.Idle == 0 {
			t.Errorf("floor %d: %+v", floor, got)
		}
	}
}

// Two runs that work equally are given equally, and a run that rests nothing.
func TestSharesFollowCPUTime(t *testing.T) {
	counter := &simulated{}
	m := newMachine(t, counter, 50_000) // half of what is drawn
	a, b, rests := m.begin(t), m.begin(t), m.begin(t)
	for range 10 {
		m.pass(100 * time.Millisecond)
		a.cpu, b.cpu = a.cpu+25*time.Millisecond, b.cpu+25*time.Millisecond
		m.busy += 100 * time.Millisecond
		counter.draw([2]uint64{5_000_000, 5_000_000}) // 100 W
		_ = b.read(t)
	}
	for _, c := range []struct {
		task *task
		want uint64
	}{{a, 12_500_000}, {b, 12_500_000}, {rests, 0}} {
		uj, ok := c.task.read(t).Measured()
		if !ok || uint64(uj) != c.want {
			t.Errorf("got %d (measured %v), want %d", uj, ok, c.want)
		}
	}
	if got := balance(t, m); got.Others != 25_000_000 || got.Idle != 50_000_000 {
		t.Errorf("got %+v, want others 25 J and idle 50 J", got)
	}
}

// The kernel counts busy time in ticks of 10 ms. A run that is ahead of it isn't
// given more than there is.
func TestTicksAreCoarse(t *testing.T) {
	counter := &simulated{}
	m := newMachine(t, counter, 0)
	a, b := m.begin(t), m.begin(t)
	m.pass(100 * time.Millisecond)
	a.cpu, b.cpu, m.busy = 12*time.Millisecond, 12*time.Millisecond, 10*time.Millisecond
	counter.draw([2]uint64{600, 400})
	for _, r := range []*task{a, b} {
		if uj, ok := r.read(t).Measured(); !ok || uj != 500 {
			t.Errorf("got %d (measured %v), want half of 1000", uj, ok)
		}
	}
	balance(t, m)
}

func TestShortRunIsNotMeasured(t *testing.T) {
	counter := &simulated{}
	m := newMachine(t, counter, 0)
	r := m.begin(t)
	m.pass(99 * time.Millisecond)
	r.cpu, m.busy = 99*time.Millisecond, 100*time.Millisecond
	counter.draw([2]uint64{5000, 5000})
	if why := r.why(t); why == nil {
		t.Error("a window below the counters' resolution has a figure")
	}
	if err := r.span.Close(); err != nil {
		t.Error(err)
	}
	if got := balance(t, m); got.Attributed != 0 || got.Others == 0 {
		t.Errorf("got %+v, want all of it others'", got)
	}
}

// A run of ten minutes is read in the background, so it wraps many times and is
// measured all the same.
func TestLongRunWrapsManyTimes(t *testing.T) {
	counter := &simulated{}
	m := newMachine(t, counter, 0)
	r := m.begin(t)
	for range 600 {
		m.pass(time.Second)
		r.cpu, m.busy = r.cpu+time.Second, m.busy+time.Second
		counter.draw([2]uint64{900_000_000, 900_000_000})
		if _, _, err := r.span.(meter.Live).Recent(5 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if uj, ok := r.read(t).Measured(); !ok || uint64(uj) != counter.drawn {
		t.Errorf("got %d (measured %v), want %d", uj, ok, counter.drawn)
	}
}

// Counts that come late, as those of a tree that is looked at ten times a second,
// cost the run nothing but the delay.
func TestLateCountsAreMeasured(t *testing.T) {
	counter := &simulated{}
	m := newMachine(t, counter, 0)
	r, other := m.begin(t), m.begin(t)
	var truth time.Duration
	for i := range 40 {
		m.pass(50 * time.Millisecond)
		truth += 200 * time.Millisecond // four processors
		m.busy += 200 * time.Millisecond
		counter.draw([2]uint64{2_500_000, 2_500_000})
		if i%2 == 1 {
			r.cpu = truth
		}
		_ = other.read(t)
	}
	uj, ok := r.read(t).Measured()
	if !ok || uint64(uj) < counter.drawn*9/10 || uint64(uj) > counter.drawn {
		t.Errorf("got %d of %d (measured %v): the run was all that was busy", uj, counter.drawn, ok)
	}
	balance(t, m)
}

// Counts that come only at the end can't be placed in time.
func TestCountsThatComeAtTheEndAreNotMeasured(t *testing.T) {
	counter := &simulated{}
	m := newMachine(t, counter, 0)
	r, other := m.begin(t), m.begin(t)
	for range 20 {
		m.pass(50 * time.Millisecond)
		m.busy += 50 * time.Millisecond
		counter.draw([2]uint64{500_000, 500_000})
		_ = other.read(t)
	}
	r.cpu = time.Second
	if why := r.why(t); why == nil {
		t.Error("a second that was counted at once has a figure")
	}
	balance(t, m)
}

// A run whose count is away for a moment, as when its process ends, isn't given up.
func TestCountsThatAreAwayForAMoment(t *testing.T) {
	counter := &simulated{}
	m := newMachine(t, counter, 0)
	r := m.begin(t)
	work := func() {
		m.pass(100 * time.Millisecond)
		m.busy += 100 * time.Millisecond
		counter.draw([2]uint64{500_000, 500_000})
	}
	work()
	r.cpu = 100 * time.Millisecond
	_ = r.read(t)
	work()
	r.cpu = 0
	if why := r.why(t); why == nil {
		t.Error("a count that went back has a figure")
	}
	work()
	r.cpu = 200 * time.Millisecond
	if uj, ok := r.read(t).Measured(); !ok || uj < 1_000_000 || uint64(uj) > counter.drawn {
		t.Errorf("got %d of %d (measured %v)", uj, counter.drawn, ok)
	}
	balance(t, m)
}
