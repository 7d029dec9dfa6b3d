package wasm

import (
	"fmt"
	"time"
)

// Cause is why a run ended. The first cause wins.
type Cause uint8

// The causes. The zero Cause is no ending.
const (
	_           Cause = iota
	Returned          // the entry function came back
	Exited            // the guest called proc_exit
	Trapped           // the guest did what the instruction set forbids: see Exit.Trap
	OutOfFuel         // the fuel limit is spent (§5.1, energy)
	OutOfTime         // the deadline passed (§5.1, time)
	OutOfCPU          // the processor time is spent (§5.1, energy where nothing is counted)
	OutOfMemory       // memory or tables would have grown past the cap (§5.1, memory)
	Cancelled         // the caller's context ended
)

var causeNames = [...]string{"", "returned", "exited", "trapped", "out of fuel", "out of time", "out of processor time", "out of memory", "cancelled"}

// String names the cause for people.
func (c Cause) String() string {
	if c > 0 && int(c) < len(causeNames) {
		return causeNames[c]
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}

// Exit is how a run ended and what it used.
type Exit struct {
	Cause Cause
	Code  uint32 // Returned: the entry's i32, or 0; Exited: the guest's code
	Trap  string // Trapped: one of the stable names, such as "unreachable"

	// Trace is the guest's call stack at a trap, innermost call first, as far as
	// the engine has it. It is for people.
	Trace []string

	// A run that trapped, other than by an unreachable or for its stack, is charged
	// for its last slice in full.
	//
	// Instructions are the guest's own units and SIMDInstructions the vector
	// instructions among what it executed. FuelUsed is all that was drawn from the
	// tank: Instructions and the host calls' charges. All are zero without metering.
	Instructions, SIMDInstructions, FuelUsed uint64

	// PeakMemoryBytes is the most that memory and tables together ever had.
	PeakMemoryBytes uint64

	// WallTime is how long the run took. CPUTime is the processor time of its one
	// thread, the host calls included; zero unless Params.MeasureCPU asked for it,
	// and where the system can't tell.
	WallTime, CPUTime time.Duration
}
