// Package warmpool keeps the books of a warm pool (§15): what each slot has drawn
// while it waited, and who pays for it. It knows nothing of processes or clocks;
// whoever owns the slots says what they drew.
//
// At every moment
//
//	drawn = claimed + overhead + pending
//
// in microjoules, and nothing leaves the books: a slot's idle energy goes to the
// run that claims it, or becomes the operator's overhead (conformance class C9).
package warmpool

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
)

// Slot names one warmed environment in its pool. A name isn't used again.
type Slot uint64

// Books are a pool's books. The zero value is an empty pool. They are the sum of
// the entries that were applied, in order: whoever keeps those can have them again.
type Books struct {
	slots  map[Slot]waiting
	next   Slot
	totals Totals
}

// waiting is a slot that nobody has claimed yet.
type waiting struct {
	environment joulebox.ID
	idle        joulebox.Microjoules
}

// Totals are the books' sums, in microjoules.
type Totals struct {
	Drawn    joulebox.Microjoules // by all slots that there ever were
	Claimed  joulebox.Microjoules // attributed to runs
	Overhead joulebox.Microjoules // attributed to the operator
	Pending  joulebox.Microjoules // of slots that wait
	Slots    uint64               // that wait
}

// Errors of entries that don't fit the books. Nothing has changed then.
var (
	// ErrNoSlot says that the slot isn't waiting: it was claimed, evicted or never was.
	ErrNoSlot = errors.New("warm pool: no such slot is waiting")
	// ErrSlot says that a new slot doesn't have the next name.
	ErrSlot = errors.New("warm pool: the slot is out of order")
)

// EnvironmentError says that a slot was warmed for another environment than the
// one that claims it (§15): the run gets a cold start, never another toolchain.
type EnvironmentError struct {
	Slot         Slot
	Warmed, Want joulebox.ID
}

func (e *EnvironmentError) Error() string {
	return fmt.Sprintf("warm pool: slot %d was warmed for %s, want %s", e.Slot, e.Warmed, e.Want)
}

// Apply enters one entry, or changes nothing and says why.
func (b *Books) Apply(e Entry) error {
	switch e.Kind {
	case Warmed:
		return b.warmed(e)
	case Accrued:
		return b.accrued(e)
	case Claimed:
		return b.claimed(e)
	case Evicted:
		return b.evicted(e)
	}
	return fmt.Errorf("warm pool: kind: got %q, want one of %q %q %q %q", e.Kind, Warmed, Accrued, Claimed, Evicted)
}

// Next is the name that the next slot has.
func (b *Books) Next() Slot { return b.next }

func (b *Books) warmed(e Entry) error {
	if e.Slot != b.next {
		return fmt.Errorf("%w: got %d, want %d", ErrSlot, e.Slot, b.next)
	}
	if e.Environment.IsZero() {
		return errors.New("warm pool: environment: a slot is warmed for one, and none is named")
	}
	if b.slots == nil {
		b.slots = map[Slot]waiting{}
	}
	b.slots[e.Slot] = waiting{environment: e.Environment}
	b.next++
	b.totals.Slots++
	return nil
}

func (b *Books) accrued(e Entry) error {
	s, ok := b.slots[e.Slot]
	if !ok {
		return ErrNoSlot
	}
	// No part is larger than what was drawn, so this is the one sum that can overflow.
	drawn, err := b.totals.Drawn.Add(e.UJ)
	if err != nil {
		return err
	}
	s.idle += e.UJ
	b.slots[e.Slot] = s
	b.totals.Drawn = drawn
	b.totals.Pending += e.UJ
	return nil
}

func (b *Books) claimed(e Entry) error {
	s, ok := b.slots[e.Slot]
	if !ok {
		return ErrNoSlot
	}
	if s.environment != e.Environment {
		return &EnvironmentError{Slot: e.Slot, Warmed: s.environment, Want: e.Environment}
	}
	b.totals.Claimed += b.leave(e.Slot)
	return nil
}

func (b *Books) evicted(e Entry) error {
	if _, ok := b.slots[e.Slot]; !ok {
		return ErrNoSlot
	}
	b.totals.Overhead += b.leave(e.Slot)
	return nil
}

// leave takes a slot out of those that wait, and gives what it drew.
func (b *Books) leave(slot Slot) joulebox.Microjoules {
	idle := b.slots[slot].idle
	delete(b.slots, slot)
	b.totals.Pending -= idle
	b.totals.Slots--
	return idle
}

// Idle is what a waiting slot has drawn so far, and the environment that it was
// warmed for.
func (b *Books) Idle(slot Slot) (idle joulebox.Microjoules, environment joulebox.ID, err error) {
	s, ok := b.slots[slot]
	if !ok {
		return 0, joulebox.ID{}, ErrNoSlot
	}
	return s.idle, s.environment, nil
}

// Totals are the sums as they are now.
func (b *Books) Totals() Totals { return b.totals }
