package meter

import (
	"context"
	"fmt"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/receipt"
)

// The window in which two readings of a package counter give a figure. Below the
// lower bound the host's busy time, which is counted in ticks of 10 ms, is too
// coarse to share by. In longer ones the counter could wrap twice: at 1 kW the
// smallest known range, 65 kJ, wraps after a minute.
const (
	shortestWindow = 100 * time.Millisecond
	longestWindow  = time.Minute
)

// RAPL measures the Cpu class from the package counters that Linux shows through
// powercap, and keeps the estimate of the meter that it wraps beside it (§6.3:
// HwShunt). Where the counters can't be read it fails with ErrNotMeasured.
//
// A package counter sees the whole host. A run is attributed the energy of its
// window times its share of all CPU time that was busy in it, so what overlapping
// runs are given never sums to more than was drawn.
func RAPL(root string, estimate Meter, busy func() (time.Duration, error)) (Meter, error) {
	zones, err := powercapZones(root)
	if err != nil {
		return nil, err
	}
	if _, err := busy(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMeasured, err)
	}
	return rapl{estimate, zones, busy}, nil
}

type rapl struct {
	Meter // the estimate
	zones []zone
	busy  func() (time.Duration, error)
}

func (m rapl) Begin(ctx context.Context, counts Source) (Span, error) {
	estimate, err := m.Meter.Begin(ctx, counts)
	if err != nil {
		return nil, err
	}
	s := &raplSpan{Span: estimate, meter: m, counts: counts, begun: time.Now(), own: counts().CPUTime}
	// A counter that can't be read now makes the run an estimated one, with no
	// figure claimed; it doesn't fail the run.
	s.before, s.lost = readZones(m.zones)
	if s.lost == nil {
		s.busy, s.lost = m.busy()
	}
	return s, nil
}

type raplSpan struct {
	Span
	meter     rapl
	counts    Source
	begun     time.Time
	before    []uint64
	own, busy time.Duration
	lost      error
}

func (s *raplSpan) Read() (receipt.Energy, bool, error) {
	estimate, used, err := s.Span.Read()
	if err != nil {
		return estimate, used, err
	}
	uj, err := s.attributed()
	if err != nil {
		return estimate, used, nil //nolint:nilerr // not measured is no failure: the estimate stands, labelled so
	}
	return receipt.Measured(estimate.Class(), uj, estimate.Estimated()), used, nil
}

func (s *raplSpan) attributed() (joulebox.Microjoules, error) {
	window := time.Since(s.begun)
	if s.lost != nil {
		return 0, s.lost
	}
	if window < shortestWindow || window > longestWindow {
		return 0, fmt.Errorf("%w: a window of %v", ErrNotMeasured, window)
	}
	after, err := readZones(s.meter.zones)
	if err != nil {
		return 0, err
	}
	var drawn uint64
	for i, z := range s.meter.zones {
		d, err := z.drawn(s.before[i], after[i])
		if err != nil {
			return 0, err
		}
		drawn += d
	}
	busy, err := s.meter.busy()
	if err != nil {
		return 0, err
	}
	return share(drawn, s.counts().CPUTime-s.own, busy-s.busy)
}

// share is drawn*own/busy, rounded down. A run that seems to have used more CPU
// time than the whole host did is not given more than there is: it is not measured.
func share(drawn uint64, own, busy time.Duration) (joulebox.Microjoules, error) {
	if own < 0 || own > busy || busy <= 0 {
		return 0, fmt.Errorf("%w: CPU time %v of %v busy in the window", ErrNotMeasured, own, busy)
	}
	return scaleDown(drawn, uint64(own), uint64(busy))
}
