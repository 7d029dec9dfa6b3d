package host

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/joulebox/joulebox/internal/wasm"
)

// Bounds of what a process may tell of a run, for people.
const (
	maxTrace    = 64
	maxTold     = 1024 // bytes of one text
	maxCallsRow = 1 << 40
)

// known is what the supervisor knows of a run by itself.
type known struct {
	limits  Limits
	metered bool
	wall    time.Duration
	seen    uint64 // units that the process showed while it ran
	least   uint64 // bytes of input that the unit must have taken
	most    uint64 // and can have taken
}

// check refuses an ending that no honest process could send. A process that has
// lost its engine can still tell a story that fits; what it can't do is to claim
// less than it showed, or what the bounds rule out.
func (e *ending) check(k known) error {
	cause := wasm.Cause(e.Cause)
	hi, vectors := bits.Mul64(e.SIMD, k.limits.Vector)
	switch {
	case cause < wasm.Returned || cause > wasm.Cancelled:
		return fmt.Errorf("cause %d", e.Cause)
	case e.Code != 0 && cause != wasm.Returned && cause != wasm.Exited:
		return fmt.Errorf("an exit code for a run that was %s", cause)
	case k.metered && (e.Fuel > k.limits.Units || e.Instructions > e.Fuel || hi != 0 || vectors > e.Fuel):
		return fmt.Errorf("%d units, of them %d instructions and %d vectors, within a limit of %d", e.Fuel, e.Instructions, e.SIMD, k.limits.Units)
	case k.metered && e.Fuel < k.seen:
		return fmt.Errorf("%d units after %d", e.Fuel, k.seen)
	case k.metered && cause == wasm.OutOfFuel && e.Fuel != k.limits.Units:
		return fmt.Errorf("out of fuel after %d units of %d", e.Fuel, k.limits.Units)
	case cause == wasm.OutOfTime && k.wall < k.limits.Wall:
		return fmt.Errorf("out of time after %v of %v", k.wall, k.limits.Wall)
	case e.Peak > k.limits.Memory:
		return fmt.Errorf("%d bytes of memory within a limit of %d", e.Peak, k.limits.Memory)
	case e.Taken < k.least || e.Taken > k.most:
		return fmt.Errorf("%d bytes of input taken, want %d to %d", e.Taken, k.least, k.most)
	}
	return errors.Join(e.checkUsage(), e.checkTold())
}

// checkUsage keeps sums of counts from overflowing.
func (e *ending) checkUsage() error {
	for _, n := range e.Usage {
		if n > maxCallsRow {
			return fmt.Errorf("a count of %d", n)
		}
	}
	return nil
}

func (e *ending) checkTold() error {
	texts := append([]string{e.Trap}, e.Trace...)
	for _, d := range e.Denials {
		texts = append(texts, d.Reason, d.Grant)
	}
	for _, t := range texts {
		if len(t) > maxTold {
			return fmt.Errorf("a text of %d bytes", len(t))
		}
	}
	if len(e.Trace) > maxTrace || len(e.Denials) > maxDenials {
		return fmt.Errorf("%d calls and %d denials", len(e.Trace), len(e.Denials))
	}
	for _, p := range e.Probing {
		if !slices.Contains([]string{probeEnergy, probeHardware, probeWalk}, p) {
			return fmt.Errorf("probing %q", p)
		}
	}
	if !slices.IsSorted(e.Probing) || len(slices.Compact(slices.Clone(e.Probing))) != len(e.Probing) {
		return fmt.Errorf("probing %q", e.Probing)
	}
	return nil
}

// engine is the ending as the engine had it.
func (e *ending) engine() wasm.Exit {
	x := wasm.Exit{Cause: wasm.Cause(e.Cause), Code: e.Code, Trap: printable(e.Trap),
		Instructions: e.Instructions, SIMDInstructions: e.SIMD, FuelUsed: e.Fuel, PeakMemoryBytes: e.Peak}
	for _, call := range e.Trace {
		x.Trace = append(x.Trace, printable(call))
	}
	return x
}

// accept takes over what the process counted and saw.
func (b *Broker) accept(e *ending) {
	u := e.Usage
	b.report = report{
		usage:   Usage{IOReads: u[0], IOReadBytes: u[1], IOWrites: u[2], IOWrittenBytes: u[3], IODenied: u[4], LogDropped: u[5]},
		probing: e.Probing,
	}
	for _, d := range e.Denials {
		b.report.denials = append(b.report.denials, Denial{printable(d.Reason), printable(d.Grant)})
	}
}

// printable is text of a host process, fit to be shown: one line, and no more
// than a screen has room for.
func printable(text string) string {
	return string(appendSafe(nil, []byte(text[:min(len(text), maxTold)])))
}
