package host

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/journal"
)

// player is a run's host that knows nothing but a journal. Each call of the unit
// must be the one that comes next in it, and each state the one that was taken.
type player struct {
	ctx     context.Context
	journal *journal.Journal
	next    uint64 // the entry that comes next
	secrets map[int][]byte
	pace    pace
	streams *followed
	states  uint64
	err     error // where the run departed from the journal
	cut     bool
}

// depart ends the run: entry n isn't what happened.
func (p *player) depart(c *wasm.Call, n uint64, want, got string) {
	p.fail(n, want, got)
	c.Cancel()
}

func (p *player) fail(n uint64, want, got string) {
	if p.err == nil {
		p.err = &journal.Error{Entry: n, Want: want, Got: got}
	}
}

// take reads the entry that comes next.
func (p *player) take() (journal.Entry, uint64) {
	n := p.next
	if n > p.journal.Len() {
		return nil, n
	}
	p.next++
	e, err := p.journal.Entry(n)
	if err != nil {
		return nil, n // Read has parsed it before
	}
	return e, n
}

// answer is a host call. The rerun unit is what is certain, so it is what an
// entry is held against: what it does is wanted, what the entry says was got.
func (p *player) answer(c *wasm.Call, name string, stack []uint64, params int) {
	args := slices.Clone(stack[:params])
	entry, n := p.take()
	switch e := entry.(type) {
	case *journal.Call:
		if e.Name == name && slices.Equal(e.Args, args) {
			p.call(c, e, n, stack)
			return
		}
	case *journal.Cut:
		if e.Name == name && slices.Equal(e.Args, args) {
			p.cut = true
			c.Charge(e.Units)
			c.Cancel()
		}
	}
	p.depart(c, n, journal.Describe(&journal.Cut{Name: name, Args: args}), journal.Describe(entry))
}

// call does to the guest what the recorded call did.
func (p *player) call(c *wasm.Call, e *journal.Call, n uint64, stack []uint64) {
	p.pace.calls++
	output := p.streams.gather(c.Memory(), e)
	for i := range e.Writes {
		if err := p.write(c.Memory(), &e.Writes[i]); err != nil {
			p.depart(c, n, "writes that the unit's memory has room for", err.Error())
		}
	}
	c.Charge(e.Units)
	if e.Broke {
		c.Charge(math.MaxUint64)
		p.depart(c, n, "a call that ends the run", journal.Describe(e))
	}
	if err := p.streams.called(c.Memory(), e, output); err != nil {
		p.err = err
		c.Cancel()
	}
	if len(stack) > 0 {
		stack[0] = e.Result
	}
}

func (p *player) write(mem []byte, w *journal.Write) error {
	b := w.Bytes
	if b == nil {
		value, ok := p.secrets[w.Secret]
		if !ok {
			return fmt.Errorf("a reference to variable %d, which is no secret", w.Secret)
		}
		b = value
	}
	if uint64(w.At)+uint64(len(b)) > uint64(len(mem)) {
		return fmt.Errorf("%d bytes at %d, in a memory of %d", len(b), w.At, len(mem))
	}
	copy(mem[w.At:], b)
	return nil
}

// Called compares the state when one is due.
func (p *player) Called(c *wasm.Call) {
	if p.err != nil || !p.pace.due(c) {
		return
	}
	want := p.pace.state(c)
	entry, n := p.take()
	if got, ok := entry.(*journal.State); !ok || *got != *want {
		p.depart(c, n, journal.Describe(want), journal.Describe(entry))
	}
	p.states++
}

// Ended compares how the run ended, and its last state.
func (p *player) Ended(c *wasm.Call, e wasm.Exit) {
	if p.err != nil {
		return
	}
	if e.Cause == wasm.Cancelled && p.ctx.Err() != nil {
		p.err = p.ctx.Err()
		return
	}
	want := p.pace.end(c, e)
	if p.cut {
		want.State.Hash = [32]byte{}
	}
	entry, n := p.take()
	got, ok := entry.(*journal.End)
	if !ok || *got != *want {
		p.fail(n, journal.Describe(want), journal.Describe(entry))
		return
	}
	p.states++
}
