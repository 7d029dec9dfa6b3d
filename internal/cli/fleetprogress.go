package cli

import (
	"fmt"

	"github.com/joulebox/joulebox/grant"
)

// progress tells on standard error how far a fleet is: one line that changes on a
// terminal, and elsewhere one line for each item that didn't complete.
type progress struct {
	*fleetRun
	total, done, trouble int
	energy               uint64 // of what this process ran; for show
}

func (r *fleetRun) newProgress() *progress {
	p := &progress{fleetRun: r}
	for i := range r.journal.items {
		ok, why := r.wants(i)
		switch {
		case ok:
			p.total++
		case why != "":
			r.console.note("item %d: %s", i, why)
		}
	}
	if p.total < len(r.journal.items) {
		r.console.note("%d of %d items are to be run; the others have been", p.total, len(r.journal.items))
	}
	return p
}

// take shows what came of one attempt.
func (p *progress) take(o outcome) {
	if o.err != nil {
		return // it is said at the end
	}
	for _, d := range o.energy.Devices {
		if sum, err := addJoules(p.energy, uint64(d.EstimatedUJ)); err == nil {
			p.energy = sum
		}
	}
	if o.over {
		p.done++
	}
	if !o.entry.Completed {
		p.trouble++
		p.clear()
		p.console.note("item %d, attempt %d: %s", o.entry.Index, o.entry.Attempt+1, attemptText(o.entry))
	}
	if p.live {
		fmt.Fprintf(p.err, "\r%s%d of %d, %d in trouble, %s estimated\x1b[K", p.paint(dim, "joulebox: "), p.done, p.total, p.trouble, formatEnergy(p.energy))
	}
}

func attemptText(e fleetEntry) string {
	if e.Kind == fleetDeclined {
		return "declined, nothing has run: " + e.Reason
	}
	return "it didn't complete; its record is " + short(e.Attestation)
}

func (p *progress) clear() {
	if p.live {
		fmt.Fprint(p.err, "\r\x1b[K")
	}
}

func (p *progress) end() { p.clear() }

// leavesNothing reports whether a run under these grants can have no effect but its
// output and its record, so that one that broke off may simply be run again.
func leavesNothing(g grant.Set) bool {
	return len(g.Storage.Write) == 0 && len(g.Storage.Delete) == 0 && len(g.Network.Outbound) == 0 && !g.Network.Inbound &&
		!g.Host.Inference && !g.Process.Exec && !g.Browser.Enabled && !g.Display.Enabled
}
