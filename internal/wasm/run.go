package wasm

import (
	"context"
	"time"
)

// run is the state of one run. It is the context.Context that wazero hands back
// to host functions, which makes finding it a type assertion.
type run struct {
	context.Context
	call     Call
	tank     tank
	deadline time.Time
	ended    *stop
}

// stop is an ending decided by the host; the first one wins.
type stop struct {
	cause Cause
	code  uint32
	trap  string
}

func (s *stop) Error() string { return s.cause.String() }

// stop ends the run from within a host function; it doesn't return.
func (r *run) stop(s stop) {
	if r.ended == nil {
		r.ended = &s
	}
	panic(r.ended)
}

func (r *run) charge(units uint64) {
	if !r.tank.charge(units) {
		r.stop(stop{cause: OutOfFuel})
	}
}

func (r *run) memory() []byte { return nil }
