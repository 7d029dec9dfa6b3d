package host

import (
	"time"

	"github.com/joulebox/joulebox"
)

// Idle is told of the processes that wait for another run, and of what they draw
// meanwhile (§15): a fast start has a price, and somebody books it. It is called
// with the processes' lock held, and calls nothing of them.
type Idle interface {
	// Waits says that a process waits for another run of its unit, and gives it a
	// slot to be known by.
	Waits(unit joulebox.ID) (slot uint64)
	// Drew says what it drew since it began to wait or was asked last.
	Drew(slot uint64, d Drawn)
	// Claimed says that a run takes it.
	Claimed(slot uint64, unit joulebox.ID)
	// Evicted says that it was ended without one.
	Evicted(slot uint64)
}

// Drawn is what a process drew while it waited.
type Drawn struct {
	CPUTime time.Duration
	Wall    time.Duration
	Memory  uint64 // bytes that it held all the while
}

// Warm is a Run in a process that was kept for it.
type Warm interface {
	// Slot is the slot that the run has claimed, if it claimed one.
	Slot() (slot uint64, claimed bool)
}

// unbooked is for whoever measures, and bills nobody.
type unbooked struct{}

func (unbooked) Waits(joulebox.ID) uint64    { return 0 }
func (unbooked) Drew(uint64, Drawn)          {}
func (unbooked) Claimed(uint64, joulebox.ID) {}
func (unbooked) Evicted(uint64)              {}
