package netstack

import (
	"context"
	"sync"
	"sync/atomic"
)

// ledger counts and records. A unit can be denied as often as it likes, so equal
// denials become one record, and there is an end to the different ones too.
type ledger struct {
	record func(Flow)

	connections, failed, denied, sent, received atomic.Int64

	mu      sync.Mutex
	denials map[denial]*Flow
	more    Flow // denials beyond maxDenials
}

type denial struct{ protocol, endpoint, reason string }

// maxDenials is how many different ones are told apart.
const maxDenials = 1024

func newLedger(record func(Flow)) *ledger {
	if record == nil {
		record = func(Flow) {}
	}
	return &ledger{record: record, denials: map[denial]*Flow{}}
}

func (l *ledger) sums() Counts {
	return Counts{l.connections.Load(), l.failed.Load(), l.denied.Load(), l.sent.Load(), l.received.Load()}
}

// deny counts a denial, and records it if it is the first of its kind.
func (l *ledger) deny(f Flow) {
	l.denied.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	key := denial{f.Protocol, f.Endpoint, f.Reason}
	switch known := l.denials[key]; {
	case known != nil:
		known.Times++
	case len(l.denials) < maxDenials:
		again := f
		l.denials[key] = &again
		f.Times = 1
		l.record(f)
	default:
		l.more.Times++
	}
}

// end records a flow that was allowed.
func (l *ledger) end(f Flow) {
	if f.Err != nil && !f.Address.IsValid() {
		l.failed.Add(1)
	}
	f.Times = 1
	l.record(f)
}

// close records the denials that were only counted.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.denials {
		if f.Times > 0 {
			l.record(*f)
		}
	}
	if l.more.Times > 0 {
		l.more.Protocol = "other"
		l.more.Reason = "denied like the others; there were too many to tell apart"
		l.record(l.more)
	}
}

// group is a sync.WaitGroup that can be waited for with a context, and used again.
type group struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n is zero; nil if nobody waits
}

func (g *group) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n += n
	if g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

func (g *group) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	zero := g.zero
	g.mu.Unlock()
	select {
	case <-zero:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *group) busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n > 0
}
