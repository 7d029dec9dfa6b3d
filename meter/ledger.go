package meter

import (
	"time"

	"github.com/joulebox/joulebox"
)

// Totals are where the energy of a machine's counters went, in microjoules. At
// every moment
//
//	Drawn = Attributed + Others + Idle
//
// exactly: what a run is given is taken from what there is, once.
type Totals struct {
	Drawn      joulebox.Microjoules // what the counters showed while anything was metered
	Attributed joulebox.Microjoules // to runs, as measured
	Others     joulebox.Microjoules // to all other work, and to runs that carry no measured figure
	Idle       joulebox.Microjoules // to nobody: the machine would have drawn it anyway
}

// ledger is the one place that decides what of a machine's energy is whose.
//
// Time is cut into steps, at each reading of the counters. A step's energy is
// first reduced by the idle floor, which is what the machine draws when nobody
// works, where calibration has found it. The rest is divided by CPU time: a run
// gets its share of all CPU time that was busy in the step, whatever its
// processes and for however short they lived. A run that used no CPU time gets
// nothing. What is busy and no run's is Others; the floor, and all of a step in
// which nobody worked, is Idle.
type ledger struct {
	floor  uint64 // of the machine, in milliwatts
	held   bool   // a run's part is the time for which it holds the device
	open   map[*account]struct{}
	totals Totals
}

// account is one run's part of the ledger.
type account struct {
	used   func() time.Duration // the run's CPU time so far, with its children's
	begun  time.Duration        // what that was at first
	booked time.Duration        // what of it has been given its share
	late   time.Duration        // what of it has not, since the host wasn't that busy
	back   time.Duration        // by how much less it was when it was last asked for
	given  joulebox.Microjoules
	lost   error // why there is no measured figure, from the first fault on
}

func newLedger(floor uint64) *ledger {
	return &ledger{floor: floor, open: map[*account]struct{}{}}
}

func (l *ledger) begin(used func() time.Duration) *account {
	now := used()
	a := &account{used: used, begun: now, booked: now}
	l.open[a] = struct{}{}
	return a
}

// coarse is how far two counts of CPU time may be apart: some are of ticks, some
// exact.
const coarse = 50 * time.Millisecond

// step divides what was drawn in a step.
func (l *ledger) step(drawn uint64, length, busy time.Duration) {
	own := make(map[*account]time.Duration, len(l.open))
	var sum time.Duration
	for a := range l.open {
		if a.lost != nil {
			continue
		}
		d := a.used() - a.booked
		// A run that is just ending may not be able to say what it used. If it never
		// can again, overdue says so.
		a.back = max(0, -d)
		d = max(d, 0)
		if !l.held {
			// A run can't have been busier than its host. What is more was counted late,
			// and is of a later step.
			d, a.late = min(d, busy), d-min(d, busy)
		}
		a.booked += d
		own[a], sum = d, sum+d
	}
	l.divide(drawn, length, max(busy, sum), sum, own)
}

// overdue says that more of a run's CPU time is without its share than two ways of
// counting explain, or less: its counts come too late, or are wrong.
func (a *account) overdue() error {
	if a.back > coarse {
		return notMeasured("the run's CPU time went back by %v", a.back)
	}
	if most := coarse + (a.booked-a.begun)/8; a.late > most {
		return notMeasured("the run seems busier than its whole host: %v of its CPU time is not in the host's", a.late)
	}
	return nil
}

func (l *ledger) divide(drawn uint64, length, whole, sum time.Duration, own map[*account]time.Duration) {
	dynamic := drawn - min(drawn, l.floorOf(length))
	rest := drawn
	give := func(to *joulebox.Microjoules, d time.Duration) joulebox.Microjoules {
		if d <= 0 {
			return 0
		}
		// d is at most whole, so the share fits.
		uj, err := scaleDown(dynamic, uint64(d), uint64(whole))
		if err != nil {
			return 0
		}
		*to += uj
		rest -= uint64(uj)
		return uj
	}
	for a, d := range own {
		a.given += give(&l.totals.Attributed, d)
	}
	give(&l.totals.Others, whole-sum)
	l.totals.Idle += joulebox.Microjoules(rest)
	l.totals.Drawn += joulebox.Microjoules(drawn)
}

// floorOf is what the machine draws in a time in which nobody works.
func (l *ledger) floorOf(length time.Duration) uint64 {
	// Milliwatts by microseconds are thousandths of a microjoule.
	uj, err := scaleDown(l.floor, uint64(max(0, length/time.Microsecond)), 1000)
	if err != nil {
		return 1<<64 - 1
	}
	return uint64(uj)
}

// lose gives up an account's measured figure; what it was given is others'.
func (l *ledger) lose(a *account, why error) {
	if a.lost == nil {
		a.lost = why
		l.keep(a, 0)
	}
}

// loseAll gives up every open account: a step could not be read.
func (l *ledger) loseAll(why error) {
	for a := range l.open {
		l.lose(a, why)
	}
}

// end closes an account of which only reported microjoules went into a record.
func (l *ledger) end(a *account, reported joulebox.Microjoules) {
	if _, open := l.open[a]; open {
		l.keep(a, reported)
		delete(l.open, a)
	}
}

func (l *ledger) keep(a *account, uj joulebox.Microjoules) {
	l.totals.Attributed -= a.given - uj
	l.totals.Others += a.given - uj
	a.given = uj
}
