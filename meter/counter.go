package meter

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotMeasured says that no hardware figure can be given, and why. The class
// is then estimated, never reported as measured (§6.3).
var ErrNotMeasured = errors.New("not measured")

func notMeasured(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrNotMeasured, fmt.Errorf(format, args...))
}

// Counter is a hardware energy interface: counters that only go up, but for
// wraps. Which domains it has doesn't change; one that goes away makes Read fail.
type Counter interface {
	// Name says what is read, for people and for the device's identity: "powercap
	// (package-0+dram, package-1+dram)".
	Name() string
	Domains() []Domain
	// Read takes all domains, in their order, in microjoules. Any error means that
	// nothing was measured.
	Read() ([]uint64, error)
}

// Domain is one counter, which holds nothing that another domain of the same
// Counter holds.
type Domain struct {
	// Key is what tells it from the others: its path. Names repeat, on every
	// machine with two sockets.
	Key  string
	Name string // as the hardware says
	// Range is where the counter starts again from zero, in microjoules. Zero is
	// unknown: a counter that goes back then says nothing.
	Range uint64
	// Watts is more than the domain can draw. A step that needs more is an error of
	// the counter.
	Watts uint64
	// Gap is the longest time between two readings that leaves a figure, where the
	// domain has such a bound of its own.
	Gap time.Duration
}

// What a domain can't draw. The largest server processors are specified for half
// of the first; the memory of a socket for less than the second.
const (
	packageWatts = 1000
	memoryWatts  = 150
)

// The bounds of how often counters are read in the background.
const (
	shortestBackground = 100 * time.Millisecond
	longestBackground  = 5 * time.Second
)

// safeGap is the longest time in which no domain can wrap twice, or at once wrap
// and pass where it was, and none of their own bounds is passed. Zero is no limit.
func safeGap(domains []Domain) (safe time.Duration) {
	for _, d := range domains {
		bounds := []time.Duration{d.Gap}
		if d.Range > 0 {
			// Microjoules by watts are microseconds.
			bounds = append(bounds, time.Duration(min(d.Range/d.Watts, uint64(time.Hour/time.Microsecond)))*time.Microsecond)
		}
		for _, b := range bounds {
			if b > 0 && (safe == 0 || b < safe) {
				safe = b
			}
		}
	}
	return safe
}

// background is how often the counters must be read so that no wrap is missed,
// with room for a reader that comes late.
func background(domains []Domain) (time.Duration, error) {
	safe := safeGap(domains)
	if safe == 0 {
		return longestBackground, nil
	}
	if safe/4 < shortestBackground {
		return 0, notMeasured("the smallest counter range is used up within %v: too fast to be read", safe)
	}
	every := min(safe/4, longestBackground)
	for _, d := range domains {
		if d.Gap > 0 {
			every = min(every, sampling) // power that changes faster isn't seen
		}
	}
	return every, nil
}
