package wasm

import (
	"math"

	"github.com/tetratelabs/wazero/api"
)

// tank is a run's fuel. The limit is drawn slice by slice into the guest's own
// counter (the global "joulebox.fuel"), which the metered code counts down; host
// calls charge the limit directly. At every moment
//
//	drawn + charged <= limit    and    used = drawn - remaining + charged
//
// so the slice decides how often the engine looks at the clock, and a run ends at
// the same unit whatever the slice is. Between ticks and host calls the code
// counts in a register, which a trap loses: see forfeit.
type tank struct {
	limit   uint64 // at most math.MaxInt64
	slice   uint64
	drawn   uint64
	charged uint64
	spent   bool
	fuel    api.MutableGlobal // nil without metering
}

func (t *tank) init(limit, slice uint64, fuel api.MutableGlobal) {
	*t = tank{limit: min(limit, math.MaxInt64), slice: slice, fuel: fuel}
	if fuel != nil {
		t.drawn = min(t.slice, t.limit)
		fuel.Set(t.drawn)
	}
}

// refill is what a tick does: remaining is below zero by the debt of the code
// that is about to run. It reports false when the limit can't pay that debt.
func (t *tank) refill(remaining int64) (int64, bool) {
	left := t.limit - t.charged - t.drawn
	debt := uint64(-remaining)
	if debt > left {
		t.spent = true
		return remaining, false
	}
	n := min(left, debt+t.slice)
	t.drawn += n
	return remaining + int64(n), true
}

// settle pays what the guest's counter owes. Metered code looks at its counter at
// loops and calls only, so host calls and the end of a run settle first: nothing
// is done for a guest that can't pay for it.
func (t *tank) settle() bool {
	if t.fuel == nil {
		return true
	}
	remaining := int64(t.fuel.Get())
	if remaining >= 0 {
		return true
	}
	refilled, ok := t.refill(remaining)
	t.fuel.Set(uint64(refilled))
	return ok
}

// charge takes a host call's units, first from what isn't drawn yet and then
// back out of the guest's counter, which is settled. It reports false when that
// can't pay.
func (t *tank) charge(units uint64) bool {
	if t.fuel == nil {
		t.charged = addSat(t.charged, units)
		return true
	}
	if units > t.limit-t.charged {
		t.spent = true
		return false
	}
	free := t.limit - t.charged - t.drawn
	if units > free {
		back := units - free
		remaining := t.fuel.Get()
		if remaining < back {
			t.spent = true
			return false
		}
		t.fuel.Set(remaining - back)
		t.drawn -= back
	}
	t.charged += units
	return true
}

// forfeit takes what is left of the slice at hand. After a trap nobody knows how
// much of it was used: the run is charged for all of it, never for too little.
func (t *tank) forfeit() {
	if t.fuel != nil && int64(t.fuel.Get()) > 0 {
		t.fuel.Set(0)
	}
}

// guest is how many units the guest itself has used.
func (t *tank) guest() uint64 {
	if t.fuel == nil {
		return 0
	}
	return t.drawn - t.fuel.Get() // two's complement: the counter may be below zero
}

// used is what was drawn in all. A run that is out of fuel has used its limit:
// the code whose cost broke it was never run.
func (t *tank) used() uint64 {
	if t.spent {
		return t.limit
	}
	return min(addSat(t.guest(), t.charged), t.limit)
}

func addSat(a, b uint64) uint64 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint64
}
