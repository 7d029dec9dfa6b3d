package meter

import (
	"math/bits"
	"time"
)

// Instant is a moment by two clocks. They part when the machine sleeps.
type Instant struct {
	Awake time.Duration // doesn't advance while the machine sleeps
	Real  time.Duration // does
}

// asleep is how far the clocks may part between two readings by being read one
// after the other on a busy machine.
const asleep = 100 * time.Millisecond

// gauge turns readings of counters into energy. It believes a step only if it
// can't have missed anything: no sleep in it, no time for two wraps, nothing that
// the hardware couldn't have drawn.
type gauge struct {
	domains []Domain
	safe    time.Duration

	begun bool
	at    Instant
	last  []uint64
}

func newGauge(domains []Domain) *gauge {
	return &gauge{domains: domains, safe: safeGap(domains)}
}

// forget makes the next reading the first.
func (g *gauge) forget() { g.begun = false }

// step takes a reading and gives what each domain drew since the one before, nil
// for the first. After an error this reading is the first.
func (g *gauge) step(now Instant, values []uint64) (drawn []uint64, err error) {
	if g.begun {
		drawn, err = g.drawn(now, values)
	}
	g.begun, g.at, g.last = true, now, values
	return drawn, err
}

func (g *gauge) drawn(now Instant, values []uint64) ([]uint64, error) {
	gap, real := now.Awake-g.at.Awake, now.Real-g.at.Real
	switch {
	case gap < 0 || real < 0:
		return nil, notMeasured("the clock went back by %v", -min(gap, real))
	case real-gap > asleep:
		return nil, notMeasured("the machine slept for %v", real-gap)
	case g.safe > 0 && gap > g.safe:
		return nil, notMeasured("the counters were not read for %v, and may have wrapped twice: want every %v", gap, g.safe)
	}
	drawn := make([]uint64, len(g.domains))
	for i, d := range g.domains {
		var err error
		if drawn[i], err = d.drawn(g.last[i], values[i], gap); err != nil {
			return nil, err
		}
	}
	return drawn, nil
}

// update is how long a counter may show what it showed before. RAPL's are
// updated every millisecond, those of drivers that poll for them more rarely.
const update = 10 * time.Millisecond

// drawn is what a domain drew between two readings.
func (d Domain) drawn(before, after uint64, gap time.Duration) (uint64, error) {
	var uj uint64
	switch {
	case d.Range > 0 && max(before, after) > d.Range:
		return 0, notMeasured("%s read %d, then %d, with a range of %d", d.Key, before, after, d.Range)
	case after >= before:
		uj = after - before
	case d.Range == 0:
		return 0, notMeasured("%s went back from %d to %d, and has no range that says where it wraps", d.Key, before, after)
	default:
		uj = d.Range - before + after
	}
	hi, most := bits.Mul64(uint64((gap+update)/time.Microsecond), d.Watts)
	if hi == 0 && uj > most {
		return 0, notMeasured("%s drew %d microjoules in %v, more than %d W", d.Key, uj, gap, d.Watts)
	}
	return uj, nil
}
