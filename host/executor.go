// Package host runs units: one executor a rung of the isolation ladder (§2.2),
// and the Broker through which a unit reaches everything that isn't its own. It
// never sees a key or a meter (§7.4): it counts, the supervisor prices.
package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// Executor establishes one tier.
type Executor interface {
	Tier() joulebox.Tier
	// Classes are the device classes that the executor can confine (§5.1).
	Classes() []joulebox.DeviceClass
	// Provides reports whether there is a mechanism for a granted member, named as
	// grant.Set.Needs does ("storage", "network.inbound").
	Provides(need string) bool
	// Counting says what Counts a run of this executor fills.
	Counting() Counting
	// Start begins a run. A unit that can't be run as it is gives a
	// *RefusedError before anything of it has run.
	Start(ctx context.Context, job Job) (Run, error)
}

// Job is one unit with all that is handed to it.
type Job struct {
	Unit    unit.Unit
	UnitID  joulebox.ID            // of Unit; zero has it computed where it is needed
	Image   []byte                 // a module, whose content address is Unit.ImageID; nil if Tree is set
	Tree    *Tree                  // whose ID is Unit.ImageID, with the module that the entrypoint names
	Native  *Native                // what a native unit is executed from; nil for a module
	Devices []joulebox.DeviceClass // what the grants allow
	Broker  *Broker
	Limits  Limits
	// Learner, if not nil, watches a trusted native unit instead of holding it to its
	// grants for programs and connections. No record is made of such a run.
	Learner *Learner
}

// Limits are the hard bounds of a run (§5.1), in what an executor can count.
type Limits struct {
	Units  uint64        // the energy budget as metered units, where instructions are counted
	Vector uint64        // what a vector instruction costs, in units
	CPU    time.Duration // the energy budget as CPU time, where no instructions are counted
	Wall   time.Duration // wall and CPU time, whichever ends first
	Memory uint64        // bytes: linear memory and tables
}

// Run is a unit under way.
type Run interface {
	// Counts may be called while the run goes on.
	Counts() Counts
	// Wait returns once the unit has ended and left nothing behind.
	Wait() (Exit, error)
}

// Counting is what an executor counts, which decides how its runs are priced.
type Counting int

// The ways of counting.
const (
	CountsInstructions Counting = iota // Units and Vectors are exact and deterministic
	CountsCPUTime                      // only CPUTime is filled
)

// Counts is what a run has used.
type Counts struct {
	Units        uint64 // metered units of scalar work, host calls included
	Vectors      uint64 // vector instructions
	Instructions uint64 // instructions alone, scalar and vector
	CPUTime      time.Duration
	Wall         time.Duration
	PeakMemory   uint64 // bytes
}

// Exit is how a unit ended. Exactly one of Code and Signal is set for a unit that
// ended by itself; a breach has neither (§7.1).
type Exit struct {
	Outcome joulebox.Outcome
	Code    *uint32
	Signal  uint32
	Cause   string // why, where code, signal and breach don't say: CauseTrap, CauseCancelled
	Detail  string // for people: which trap it was
	Counts  Counts
}

// The causes of a run that Failed without a code or a signal of its own.
const (
	CauseTrap      = "trap"
	CauseCancelled = "cancelled"
)

// RefusedError says that a unit can't be run as it was handed over, and what
// would mend it. Nothing of the unit has run.
type RefusedError struct {
	Reason string
	Hint   string // what to do about it; may be empty
	Err    error
}

func (e *RefusedError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// ErrNotFound says that the unit's entry point isn't there.
var ErrNotFound = errors.New("not found")

// ErrDenied says that the unit can't begin without what it isn't granted.
var ErrDenied = errors.New("denied")
