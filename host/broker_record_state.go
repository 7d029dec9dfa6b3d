package host

import (
	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/journal"
)

// pace decides where states are taken, by what the unit itself has used: a run
// and its replay take them at the same calls.
type pace struct {
	every uint64
	calls uint64 // recorded
	last  uint64 // units at the last state
}

// unitsPerByte is how many units must lie between two states for each byte of the
// unit's memory, so that hashing stays a small part of the work.
const unitsPerByte = 32

func (p *pace) due(c *wasm.Call) bool {
	used := c.Instructions() - p.last
	return used >= p.every && used >= unitsPerByte*uint64(len(c.Memory()))
}

func (p *pace) state(c *wasm.Call) *journal.State {
	p.last = c.Instructions()
	return &journal.State{Units: p.last, Calls: p.calls, Memory: uint64(len(c.Memory())), Hash: c.StateHash()}
}

func (p *pace) end(c *wasm.Call, e wasm.Exit) *journal.End {
	end := &journal.End{
		Cause: e.Cause.String(), Code: uint64(e.Code), Trap: e.Trap,
		Units: e.FuelUsed, Instructions: e.Instructions, Vectors: e.SIMDInstructions, Peak: e.PeakMemoryBytes,
	}
	end.State = journal.State{Units: e.FuelUsed, Calls: p.calls, Memory: uint64(len(c.Memory())), Hash: c.StateHash()}
	return end
}
