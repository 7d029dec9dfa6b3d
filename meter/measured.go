package meter

import (
	"context"
	"sync"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/receipt"
)

// Measured is the meter of the Cpu class that gives what the node's counters show
// (§6.3: HwShunt), and keeps the estimate of the meter that it wraps beside it.
// Where the counters say nothing about a run, the estimate stands alone.
func (n *Node) Measured(estimate Meter) Meter { return measured{estimate, n, false} }

// modelled is the meter of a node whose counter is itself worked out (§6.3:
// ModelBased): it stands in the place of the estimate.
func (n *Node) modelled(estimate Meter) Meter { return measured{estimate, n, true} }

type measured struct {
	Meter // the estimate
	node  *Node
	model bool
}

func (m measured) Identity() Identity {
	id := m.Meter.Identity()
	id.Driver += ", " + m.node.counter.Name()
	return id
}

func (m measured) Begin(ctx context.Context, counts Source) (Span, error) {
	estimate, err := m.Meter.Begin(ctx, counts)
	if err != nil {
		return nil, err
	}
	// A counter that can't be read now makes the run an estimated one, with no
	// figure claimed; it doesn't fail the run.
	s := &measuredSpan{Span: estimate, node: m.node, model: m.model}
	used := func() time.Duration { return counts().CPUTime }
	if m.node.held {
		used = func() time.Duration { return m.node.now().Awake }
	}
	s.account, s.start, s.since = m.node.begin(used)
	return s, nil
}

// Live is a span whose figure comes from a hardware interface while the run goes
// on, so that a budget can be bound by it.
type Live interface {
	Span
	// Recent is Read, but may be that much older.
	Recent(age time.Duration) (energy receipt.Energy, used bool, err error)
	// Unmeasured says why the last figure was not measured; nil when it was.
	Unmeasured() error
}

// Measures reports that a meter's spans are Live.
func Measures(m Meter) bool {
	_, ok := m.(measured)
	return ok
}

type measuredSpan struct {
	Span
	node    *Node
	model   bool
	account *account
	start   []uint64
	since   Instant

	mu         sync.Mutex // budgets are watched beside whoever else reads
	reported   joulebox.Microjoules
	unmeasured error
}

func (s *measuredSpan) Read() (receipt.Energy, bool, error) { return s.Recent(0) }

func (s *measuredSpan) Recent(age time.Duration) (receipt.Energy, bool, error) {
	estimate, used, err := s.Span.Read()
	if err != nil {
		return estimate, used, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Not measured is no failure: the estimate stands, labelled so.
	s.reported, s.unmeasured = s.node.figure(s.account, s.start, s.since, age)
	if s.unmeasured != nil {
		return estimate, used, nil
	}
	if s.model {
		return receipt.Modelled(estimate.Class(), s.reported), used, nil
	}
	return receipt.Measured(estimate.Class(), s.reported, estimate.Estimated()), used, nil
}

func (s *measuredSpan) Unmeasured() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unmeasured
}

func (s *measuredSpan) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node.end(s.account, s.reported)
	return s.Span.Close()
}
