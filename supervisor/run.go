package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
)

// Record is what a run leaves: its sealed and verified bundle, kept in the store
// before it is returned.
type Record struct {
	Bundle *bundle.Bundle
	Exit   host.Exit
	// Denials are the first few accesses that were refused, for people.
	Denials []host.Denial
	// LogDropped is how many lines of the unit's log were over the cap.
	LogDropped uint64
	// Journal is the run's journal, which the store has as an object of its own; nil
	// unless asked for and whole. NoJournal says why one that was asked for isn't.
	Journal   []byte
	NoJournal error
	// Unmeasured says why this machine's counters gave the run no figure; nil where
	// they did, or where there are none.
	Unmeasured error
}

// Receipt is the record's energy receipt.
func (r *Record) Receipt() *receipt.Receipt { return r.Bundle.Receipt() }

// Run runs a plan once, with what is handed to it, and returns its record. The
// error is a *DeclinedError or a *host.RefusedError when nothing of the unit has
// run. A unit that fails, or is ended for a breach or by ctx, is no error: it has
// its record like any other.
func (s *Supervisor) Run(ctx context.Context, p *Plan, handed host.BrokerConfig) (*Record, error) {
	// Records outlive the cancellation that they record.
	keep := context.WithoutCancel(ctx)
	errand, err := s.errand(keep, p)
	if err != nil {
		return nil, err
	}
	j, err := s.record(&handed)
	if err != nil {
		return nil, err
	}
	f, err := s.execute(ctx, p, handed)
	j.finish()
	n, errandErr := errand()
	if err != nil {
		return nil, err // the number reserved for it stays unused
	}
	if errandErr != nil {
		return nil, fmt.Errorf("the unit ran, but its record could not be made: %w", errandErr)
	}
	f.journal = j.root()
	kept := s.keepingJournal(keep, j)
	b, err := s.seal(p, f, n)
	id, keptErr := kept()
	if err = errors.Join(err, keptErr); err != nil {
		return nil, fmt.Errorf("the unit ran, but its record could not be made: %w", err)
	}
	if err := s.append(keep, b, id); err != nil {
		return nil, fmt.Errorf("the unit ran, but its record could not be kept: %w", err)
	}
	r := &Record{Bundle: b, Exit: f.exit, Denials: f.denials, LogDropped: f.logDropped, NoJournal: j.err, Unmeasured: f.unmeasured}
	if j.whole != nil {
		r.Journal = j.container
	}
	return r, nil
}

// append adds the record. The object of its journal, if it has one, is the last of
// the ids that it is found by, so that the journal is found by the record.
func (s *Supervisor) append(ctx context.Context, b *bundle.Bundle, journal joulebox.ID) error {
	keys := []joulebox.ID{b.Statement().ID(), b.Receipt().ID(), b.UnitID(), b.Unit().ImageID}
	if !journal.IsZero() {
		keys = append(keys, journal)
	}
	_, err := s.config.Log.Append(ctx, b.Marshal(), keys...)
	return err
}

// execute runs the unit and meters it.
func (s *Supervisor) execute(ctx context.Context, p *Plan, handed host.BrokerConfig) (f finished, err error) {
	broker, err := s.broker(p, handed)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	// Whatever goes wrong on our side, the unit doesn't outlive this call.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.from = s.config.Now()
	run, err := p.executor.Start(ctx, host.Job{
		Unit:    p.Unit,
		UnitID:  p.UnitID,
		Image:   p.image,
		Tree:    p.tree,
		Native:  p.native,
		Devices: p.Grants.Compute.Devices,
		Broker:  broker,
		Limits:  p.binding(s.limits(p)),
	})
	if err != nil {
		return f, err
	}
	f.idle = s.config.Pool.claimedBy(run)
	spans, err := begin(ctx, p.meters, run)
	defer func() { err = errors.Join(err, closeAll(spans)) }()
	if err != nil {
		cancel()
		_, waitErr := run.Wait()
		return f, errors.Join(err, waitErr)
	}
	passed := p.watchEnergy(spans, cancel)
	f.exit, err = run.Wait()
	if over := passed(); err != nil {
		return f, err
	} else if over {
		f.exit = breached(f.exit)
	}
	f.to = s.config.Now()
	return f, p.settle(&f, spans, broker)
}

func (s *Supervisor) broker(p *Plan, handed host.BrokerConfig) (*host.Broker, error) {
	handed.Grants, handed.Tolls = p.Grants, s.config.Table.Tolls
	handed.Image, handed.Args = p.tree, append([]string{p.programName()}, p.Unit.Entrypoint[1:]...)
	b, err := host.NewBroker(handed)
	if err != nil {
		return nil, &host.RefusedError{Reason: "what was handed to the unit", Err: err}
	}
	return b, nil
}

// settle turns what was counted into what is signed.
func (p *Plan) settle(f *finished, spans []meter.Span, broker *host.Broker) (err error) {
	if breach, found := p.tampering(broker.Grants()); found {
		f.exit = host.Exit{Outcome: joulebox.Terminated(breach), Counts: f.exit.Counts}
	}
	p.tampered = f.exit.Outcome.Breach().Tampering()
	if f.energy, err = read(spans); err != nil {
		return err
	}
	f.unmeasured = unmeasured(spans)
	if err = f.addIdle(); err != nil {
		return err
	}
	f.devices = identities(p.meters, f.energy)
	f.denials, f.logDropped = broker.Denials(), broker.Usage().LogDropped
	f.result, f.probing = result(f.exit, broker), probing(broker)
	f.result.Usage.IdleUJ = uint64(f.idle)
	return nil
}

func closeAll(spans []meter.Span) (err error) {
	for _, span := range spans {
		err = errors.Join(err, span.Close())
	}
	return err
}

// limits are the grant's budgets in what the executor counts.
func (s *Supervisor) limits(p *Plan) host.Limits {
	c := p.Grants.Compute
	l := host.Limits{
		Vector: s.config.Table.UnitsPerVector,
		Wall:   time.Duration(c.CPUTimeMS) * time.Millisecond,
		Memory: c.MemoryBytes,
	}
	if p.executor.Counting() == host.CountsInstructions {
		l.Units = s.config.Table.Fuel(c.EnergyBudgetUJ)
	} else {
		l.CPU = s.config.Table.CPUTime(c.EnergyBudgetUJ)
	}
	return l
}

func begin(ctx context.Context, meters []meter.Meter, run host.Run) (spans []meter.Span, err error) {
	counts := func() meter.Counts {
		c := run.Counts()
		return meter.Counts{Units: c.Units, Vectors: c.Vectors, CPUTime: c.CPUTime}
	}
	for _, m := range meters {
		span, err := m.Begin(ctx, counts)
		if err != nil {
			return spans, fmt.Errorf("meter of %s: %w", m.Class(), err)
		}
		spans = append(spans, span)
	}
	return spans, nil
}
