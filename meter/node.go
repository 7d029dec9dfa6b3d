package meter

import (
	"sync"
	"time"

	"github.com/joulebox/joulebox"
)

// Node divides the energy that a machine's counters show between the runs on it.
// Only while runs are open does it read anything.
type Node struct {
	counter Counter
	busy    func() (time.Duration, error)
	now     func() Instant
	every   time.Duration
	held    bool

	mu     sync.Mutex
	gauge  *gauge
	ledger *ledger
	drawn  []uint64 // of each domain, in all steps
	wasOn  time.Duration
	stop   chan struct{} // ends the reader in the background; nil while there is none
	gone   error         // why nothing can be read just now
}

// NodeConfig is what a node is made of.
type NodeConfig struct {
	Counter Counter
	// Busy is the CPU time that the whole machine spent on work. A node without it
	// is a device that runs hold: what it draws is theirs, in equal parts.
	Busy func() (time.Duration, error)
	Now  func() Instant // defaults to the package's Now
	// Floor is what the machine draws when nobody works, in milliwatts. Zero is
	// unknown: all that is drawn in a busy step is then its work's.
	Floor uint64
}

// NewNode tries everything once: what can't be read now isn't measured.
func NewNode(c NodeConfig) (*Node, error) {
	if _, err := c.Counter.Read(); err != nil {
		return nil, err
	}
	held := c.Busy == nil
	if held {
		c.Busy = func() (time.Duration, error) { return 0, nil }
	}
	if _, err := c.Busy(); err != nil {
		return nil, notMeasured("%w", err)
	}
	every, err := background(c.Counter.Domains())
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = Now
	}
	n := &Node{counter: c.Counter, busy: c.Busy, now: c.Now, every: every, held: held}
	n.gauge, n.ledger = newGauge(c.Counter.Domains()), newLedger(c.Floor)
	n.ledger.held = held
	n.drawn = make([]uint64, len(n.gauge.domains))
	return n, nil
}

// Counter is what the node reads.
func (n *Node) Counter() Counter { return n.counter }

// Totals are where all energy went so far.
func (n *Node) Totals() Totals {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ledger.totals
}

// read ends a step. An error has every open account lose its figure: nobody knows
// what was drawn in the step.
func (n *Node) read() {
	at := n.now()
	values, err := n.counter.Read()
	var busy time.Duration
	if err == nil {
		busy, err = n.busy()
	}
	if err != nil {
		n.gone = err
		n.gauge.forget()
		n.ledger.loseAll(err)
		return
	}
	began, before, wasOn := n.gauge.begun, n.gauge.at, n.wasOn
	drawn, err := n.gauge.step(at, values)
	n.gone, n.wasOn = nil, busy
	if err == nil && began && busy < wasOn {
		err = notMeasured("the host's busy time went back by %v", wasOn-busy)
	}
	if err != nil {
		n.ledger.loseAll(err)
		return
	}
	if !began {
		return
	}
	var sum uint64
	for i, uj := range drawn {
		n.drawn[i] += uj
		sum += uj
	}
	n.ledger.step(sum, at.Awake-before.Awake, busy-wasOn)
}

func (n *Node) begin(used func() time.Duration) (a *account, start []uint64, at Instant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ledger.open) == 0 {
		n.gauge.forget() // nobody has read since
	}
	n.read()
	a = n.ledger.begin(used)
	a.lost = n.gone
	if n.stop == nil {
		n.stop = make(chan struct{})
		go n.keepReading(n.stop)
	}
	return a, append([]uint64(nil), n.drawn...), n.gauge.at
}

// keepReading ends steps before a counter could wrap twice.
func (n *Node) keepReading(stop <-chan struct{}) {
	t := time.NewTicker(n.every)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			n.mu.Lock()
			n.read()
			n.mu.Unlock()
		}
	}
}

// shortestWindow is the time below which a run carries no measured figure: the
// host's busy time is counted in ticks of 10 ms, and counters that drivers poll
// for are no finer.
const shortestWindow = 100 * time.Millisecond

// figure is what an account was given, read anew unless the last reading is
// younger than age.
func (n *Node) figure(a *account, start []uint64, since Instant, age time.Duration) (joulebox.Microjoules, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.lost == nil && (age <= 0 || n.now().Awake-n.gauge.at.Awake > age) {
		n.read()
	}
	if a.lost != nil {
		return 0, a.lost
	}
	if window := n.gauge.at.Awake - since.Awake; window < shortestWindow {
		return 0, notMeasured("a run of %v: the counters need %v", window, shortestWindow)
	}
	if err := a.overdue(); err != nil {
		return 0, err
	}
	for i, d := range n.gauge.domains {
		if n.drawn[i] == start[i] {
			return 0, notMeasured("%s did not move", d.Key)
		}
	}
	return a.given, nil
}

func (n *Node) end(a *account, reported joulebox.Microjoules) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ledger.end(a, reported)
	if len(n.ledger.open) == 0 && n.stop != nil {
		close(n.stop)
		n.stop = nil
	}
}
