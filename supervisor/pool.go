package supervisor

import (
	"fmt"
	"sync"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/warmpool"
)

// Pool keeps the books of the processes that wait for another run (§15): what they
// draw is claimed by the run that gets a fast start for it, or is overhead. A slot
// is warmed for one unit, whose id covers its environment's address.
//
// It is the Idle of a host.ProcessConfig and the Pool of a Config.
type Pool struct {
	table meter.Table

	mu    sync.Mutex
	books warmpool.Books
	drawn map[uint64]joulebox.Microjoules // of claimed slots, until their run asks
	err   error                           // the first entry that didn't fit: the books are wrong from there
}

// NewPool makes empty books, priced by a table.
func NewPool(t meter.Table) *Pool {
	return &Pool{table: t, drawn: map[uint64]joulebox.Microjoules{}}
}

func (p *Pool) enter(e warmpool.Entry) {
	if err := p.books.Apply(e); err != nil && p.err == nil {
		p.err = err
	}
}

// Waits implements host.Idle.
func (p *Pool) Waits(unit joulebox.ID) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := p.books.Next()
	p.enter(warmpool.Entry{Kind: warmpool.Warmed, Slot: slot, Environment: unit})
	return uint64(slot)
}

// Drew implements host.Idle.
func (p *Pool) Drew(slot uint64, d host.Drawn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	uj, err := p.table.IdleEnergy(d.CPUTime, d.Memory, d.Wall)
	if err != nil && p.err == nil {
		p.err = err
	}
	if uj > 0 {
		p.enter(warmpool.Entry{Kind: warmpool.Accrued, Slot: warmpool.Slot(slot), UJ: uj})
	}
}

// Claimed implements host.Idle.
func (p *Pool) Claimed(slot uint64, unit joulebox.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle, _, err := p.books.Idle(warmpool.Slot(slot))
	if err != nil && p.err == nil {
		p.err = err
	}
	p.drawn[slot] = idle
	p.enter(warmpool.Entry{Kind: warmpool.Claimed, Slot: warmpool.Slot(slot), Environment: unit})
}

// Evicted implements host.Idle.
func (p *Pool) Evicted(slot uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter(warmpool.Entry{Kind: warmpool.Evicted, Slot: warmpool.Slot(slot)})
}

// Totals are the sums of the books, or why they can't be trusted. Processes that
// wait have drawn up to the last time that they were settled.
func (p *Pool) Totals() (warmpool.Totals, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.books.Totals(), p.err
}

// claimedBy is what the run's process drew before it, once: it is the run's to
// account for.
func (p *Pool) claimedBy(run host.Run) joulebox.Microjoules {
	w, ok := run.(host.Warm)
	if p == nil || !ok {
		return 0
	}
	slot, claimed := w.Slot()
	if !claimed {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.drawn[slot]
	delete(p.drawn, slot)
	return idle
}

// addIdle adds what the run's process drew before it to the Cpu class, which every
// run has (§15).
func (f *finished) addIdle() (err error) {
	if f.idle == 0 {
		return nil
	}
	for i, e := range f.energy {
		if e.Class() == joulebox.CPU {
			f.energy[i], err = e.WithIdle(f.idle)
			return err
		}
	}
	return fmt.Errorf("BUG(joulebox): %d microjoules of idle energy and no Cpu record", f.idle)
}
