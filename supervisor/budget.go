package supervisor

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
)

// slice is how far a run may go past its energy budget where counters bind it.
const slice = 50 * time.Millisecond

// binding settles what the energy budget is bound by. Where a class is measured
// while the run goes on, that is the figure that counts, which no executor sees:
// its own bound, made from the estimate, would end runs that are within their
// budget. It is lifted then, and watchEnergy holds the run instead.
func (p *Plan) binding(l host.Limits) host.Limits {
	if p.measured() {
		l.Units, l.CPU = math.MaxInt64, math.MaxInt64
	}
	return l
}

func (p *Plan) measured() bool { return slices.ContainsFunc(p.meters, meter.Measures) }

// watchEnergy ends a run whose energy is above its budget: for each class the
// measured figure where there is one, else the estimate, so a counter that fails
// in mid-run leaves no run without a bound. What it returns stops the watch, and
// says whether the budget was passed.
func (p *Plan) watchEnergy(spans []meter.Span, end context.CancelFunc) (passed func() bool) {
	if !p.measured() {
		return func() bool { return false } // the executor's own bound is exact
	}
	stop, found := make(chan struct{}), make(chan bool, 1)
	go func() {
		t := time.NewTicker(slice)
		defer t.Stop()
		for {
			select {
			case <-stop:
				found <- false
				return
			case <-t.C:
			}
			uj, err := bound(spans)
			if err != nil || uj > p.Grants.Compute.EnergyBudgetUJ {
				end() // an error comes again when the run is settled, and is returned there
				found <- err == nil
				return
			}
		}
	}()
	return func() bool {
		close(stop)
		return <-found
	}
}

// bound is what the budget binds, over all classes. A measured figure of the
// processor holds what its vector lanes drew, so their estimate isn't added to it.
func bound(spans []meter.Span) (sum joulebox.Microjoules, err error) {
	var list []receipt.Energy
	processor := false
	for _, span := range spans {
		e, used, err := recent(span)
		if err != nil {
			return 0, err
		}
		if _, measured := e.Measured(); used && measured && e.Class() == joulebox.CPU {
			processor = true
		}
		if used {
			list = append(list, e)
		}
	}
	for _, e := range list {
		if _, measured := e.Measured(); processor && !measured && e.Class() == joulebox.SIMD {
			continue
		}
		if sum, err = sum.Add(e.Bound()); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// recent is a figure that may be a little older, so that many runs that are watched
// share one reading of the counters.
func recent(span meter.Span) (receipt.Energy, bool, error) {
	if live, ok := span.(meter.Live); ok {
		return live.Recent(slice / 2)
	}
	return span.Read()
}

// breached is the exit of a run that was ended for its energy. One that ended by
// itself in the same slice keeps its own exit.
func breached(e host.Exit) host.Exit {
	if e.Cause != host.CauseCancelled {
		return e
	}
	return host.Exit{Outcome: joulebox.Terminated(joulebox.BreachEnergy), Counts: e.Counts}
}

// unmeasured is why a class that has counters was not measured.
func unmeasured(spans []meter.Span) error {
	for _, span := range spans {
		if live, ok := span.(meter.Live); ok && live.Unmeasured() != nil {
			return live.Unmeasured()
		}
	}
	return nil
}
