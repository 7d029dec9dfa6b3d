// Package meter turns what a run used into microjoules, per device class
// (§6.2), and says how it knows: Provenance (§6.3). It sees counts and hardware
// interfaces; it never sees a unit, a broker or a key.
package meter

import (
	"context"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/receipt"
)

// Identity names the device that a class was served by (§7.2).
type Identity struct {
	Class  joulebox.DeviceClass
	Model  string // as in "AMD EPYC 7763 64-Core Processor"
	Driver string // as in "linux 6.18.44"
}

// Counts is what a run has used so far, as its executor counted it.
type Counts struct {
	Units   uint64        // metered units of the Cpu class: instructions and host calls (S2)
	Vectors uint64        // vector instructions, counted apart for the Simd class (S2)
	CPUTime time.Duration // CPU time of the unit and all of its children
}

// Source reads the counts of a run. It may be called while the run goes on.
type Source func() Counts

// Meter measures or estimates one device class.
type Meter interface {
	Class() joulebox.DeviceClass
	Identity() Identity
	// Begin starts accounting for one run. The class counts as used when the
	// span says so; a class that was not used has no record in the receipt.
	Begin(ctx context.Context, counts Source) (Span, error)
}

// Span accounts for one run, from Begin to Close.
type Span interface {
	// Read returns the energy so far and whether the class was used at all. It
	// works while the run goes on: budgets are enforced from here.
	Read() (energy receipt.Energy, used bool, err error)
	Close() error
}
