package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
)

// recover settles what an earlier process left under way: an attempt whose record
// was kept has ended, and any other broke off.
func (r *fleetRun) recover(ctx context.Context) error {
	for i := range r.journal.items {
		s := &r.journal.items[i]
		if s.kind != fleetBegun {
			continue
		}
		attempt := len(s.attempts) - 1
		b, err := r.recordOf(ctx, s.unit)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		e := fleetEntry{Kind: fleetBroken, Index: i, Attempt: attempt, Reason: "the process that ran it ended"}
		if b != nil {
			e = endedEntry(i, attempt, b)
		}
		if err := r.note(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// recordOf finds the kept record of a unit that only one attempt has; nil if there
// is none.
func (r *fleetRun) recordOf(ctx context.Context, unit joulebox.ID) (*bundle.Bundle, error) {
	for record, err := range r.house.store.Find(ctx, unit) {
		if err != nil {
			return nil, err
		}
		return bundle.Parse(record.Data)
	}
	return nil, nil
}

func endedEntry(index, attempt int, b *bundle.Bundle) fleetEntry {
	done := b.Statement().Fields().Outcome == joulebox.Completed && b.Result().Cause == ""
	return fleetEntry{Kind: fleetEnded, Index: index, Attempt: attempt, Attestation: b.Statement().ID(), Completed: done}
}

// note writes an entry and takes it into the state.
func (r *fleetRun) note(ctx context.Context, e fleetEntry) error {
	if err := r.journal.append(context.WithoutCancel(ctx), e); err != nil {
		return err
	}
	return r.journal.apply(e)
}

// wants reports whether an item is to be run, and why not if there is something to
// say.
func (r *fleetRun) wants(index int) (bool, string) {
	s := &r.journal.items[index]
	switch {
	case s.done, s.ended > r.flags.retries:
		return false, ""
	case s.kind == fleetBroken && !r.flags.rerun:
		it, _, err := parseItem(r.lines[index])
		if g, failed := it.grants(); err != nil || failed != nil || !leavesNothing(g) {
			return false, "it broke off and may have had effects; --rerun-broken runs it again"
		}
	}
	return true, ""
}

// outcome is what came of one attempt.
type outcome struct {
	entry  fleetEntry
	over   bool // no other attempt follows in this run
	err    error
	energy energyRecord
}

// work runs what is to be run. Units that run when the context ends are let finish:
// only what has ended is on the record, and nothing is to be run twice.
func (r *fleetRun) work(ctx context.Context) error {
	p := r.newProgress() // before anyone changes what it counts
	defer p.end()
	queue := make(chan int)
	results := make(chan outcome)
	gone := make(chan struct{})
	defer close(gone)
	var workers sync.WaitGroup
	for range r.flags.jobs {
		workers.Go(func() {
			for index := range queue {
				r.attempts(ctx, index, results)
			}
		})
	}
	go r.feed(ctx, queue, gone)
	go func() {
		workers.Wait()
		close(results)
	}()
	var failed error
	for o := range results {
		failed = errors.Join(failed, o.err)
		p.take(o)
	}
	if failed == nil && ctx.Err() != nil {
		failed = errors.New("interrupted; what had begun has ended and is on the record")
	}
	return failed
}

// feed hands out the items in order.
func (r *fleetRun) feed(ctx context.Context, queue chan<- int, gone <-chan struct{}) {
	defer close(queue)
	for index := range r.journal.items {
		if ok, _ := r.wants(index); !ok {
			continue
		}
		select {
		case queue <- index:
		case <-ctx.Done():
			return
		case <-gone:
			return
		}
	}
}

// attempts runs an item until it completes or may not be tried again.
func (r *fleetRun) attempts(ctx context.Context, index int, results chan<- outcome) {
	for ctx.Err() == nil {
		if ok, _ := r.wants(index); !ok {
			return
		}
		o := r.attempt(ctx, index, len(r.journal.items[index].attempts))
		again, _ := r.wants(index)
		o.over = o.err != nil || o.entry.Kind == fleetDeclined || !again
		results <- o
		if o.over {
			return
		}
	}
}

// attempt runs an item once: the journal says so before, and what came of it after.
func (r *fleetRun) attempt(ctx context.Context, index, attempt int) (o outcome) {
	ctx = context.WithoutCancel(ctx)
	b, err := r.run(ctx, index, attempt)
	var declined *declinedItem
	switch {
	case errors.As(err, &declined):
		o.entry = fleetEntry{Kind: fleetDeclined, Index: index, Attempt: attempt, Reason: declined.Error()}
	case err != nil:
		o.err = fmt.Errorf("item %d: %w", index, err)
		return o
	default:
		o.entry, o.energy = endedEntry(index, attempt, b), newEnergyRecord(b.Receipt().Devices())
	}
	o.err = r.note(ctx, o.entry)
	return o
}

// declinedItem says that nothing of an item has run.
type declinedItem struct{ error }

// run reads and plans an item, notes that it begins, and runs it.
func (r *fleetRun) run(ctx context.Context, index, attempt int) (*bundle.Bundle, error) {
	it, _, err := parseItem(r.lines[index])
	if err != nil {
		return nil, &declinedItem{err}
	}
	out, err := r.outputs(index, attempt)
	if err != nil {
		return nil, err
	}
	defer out.close()
	p, err := it.prepare(r.console, r.journal.challenge(index, attempt), out.out, out.err)
	if err != nil {
		return nil, &declinedItem{err}
	}
	defer p.handed.close()
	p.handed.Hidden = append(p.handed.Hidden, r.hidden)
	plan, err := r.runner.Plan(p.request)
	if err != nil {
		return nil, &declinedItem{err}
	}
	if err := r.note(ctx, fleetEntry{Kind: fleetBegun, Index: index, Attempt: attempt, Unit: plan.UnitID}); err != nil {
		return nil, err
	}
	record, err := r.runner.Run(ctx, plan, p.handed.BrokerConfig)
	if _, refused := errors.AsType[*host.RefusedError](err); refused {
		return nil, &declinedItem{err}
	}
	if _, refused := errors.AsType[*supervisor.DeclinedError](err); refused {
		return nil, &declinedItem{err}
	}
	if err != nil {
		return nil, err
	}
	return record.Bundle, r.writeBundle(index, attempt, record.Bundle)
}

// name is an attempt's, in the order of the fleet.
func (r *fleetRun) name(index, attempt int) string { return fmt.Sprintf("%07d-%d", index, attempt+1) }

// itemOutputs are the files that an attempt's output goes to.
type itemOutputs struct{ out, err *os.File }

func (o itemOutputs) close() {
	_ = o.out.Close()
	_ = o.err.Close()
}

func (r *fleetRun) outputs(index, attempt int) (o itemOutputs, err error) {
	path := filepath.Join(r.dir, "output", r.name(index, attempt))
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return o, err
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if o.out, err = os.OpenFile(path+".out", flags, 0o600); err != nil {
		return o, err
	}
	if o.err, err = os.OpenFile(path+".err", flags, 0o600); err != nil {
		_ = o.out.Close()
	}
	return o, err
}

func (r *fleetRun) bundlePath(index, attempt int) string {
	return filepath.Join(r.dir, "bundles", r.name(index, attempt)+".json")
}

func (r *fleetRun) writeBundle(index, attempt int, b *bundle.Bundle) error {
	path := r.bundlePath(index, attempt)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeFile(path, func(w *os.File) error {
		_, err := w.Write(bundleText(b))
		return err
	})
}
