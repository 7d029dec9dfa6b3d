package runrecord

import (
	"fmt"

	"github.com/joulebox/joulebox"
)

// Offer is what someone brings to resume a run.
type Offer struct {
	Unit, Grants joulebox.ID
	Snapshot     Snapshot
}

// MayResume says whether a run goes on with what is offered: the unit, the grants
// and the snapshot that it was suspended with, to the last address. Whoever resumes
// has verified the record first.
func (r *Record) MayResume(o Offer) error {
	switch {
	case o.Unit != r.unit:
		return fmt.Errorf("run record: unit: got %s, want %s", o.Unit, r.unit)
	case o.Grants != r.grants:
		return fmt.Errorf("run record: grants: got %s, want %s", o.Grants, r.grants)
	}
	if err := r.follows(Segment{Kind: Resumed, Snapshot: o.Snapshot}); err != nil {
		return fmt.Errorf("run record: %w", err)
	}
	return nil
}

// claim is one going on in the record that a run was suspended in.
type claim struct {
	origin joulebox.ID // the head at the suspension
	head   joulebox.ID // the head of the segment that goes on
}

// Claims takes in verified records and finds a snapshot that went on twice in
// place, which no single record can show: two copies of a parked run, each resumed.
// Clones say that they are clones, and any number of them may be. The zero Claims
// knows of none.
type Claims struct{ resumed map[joulebox.ID]joulebox.ID }

// ResumedTwiceError names the two records' heads behind one suspension.
type ResumedTwiceError struct {
	Suspension  joulebox.ID // the head at the suspension
	First, Next joulebox.ID // the heads behind it
}

func (e *ResumedTwiceError) Error() string {
	return fmt.Sprintf("run record: the run that was suspended at head %s went on twice: to %s and to %s", e.Suspension, e.First, e.Next)
}

// Add takes in what a record went on from. A record that was taken in before, or
// that is a beginning of one, is no conflict.
func (c *Claims) Add(r *Record) error {
	if c.resumed == nil {
		c.resumed = map[joulebox.ID]joulebox.ID{}
	}
	for _, k := range r.claims() {
		first, known := c.resumed[k.origin]
		if known && first != k.head {
			return &ResumedTwiceError{k.origin, first, k.head}
		}
		c.resumed[k.origin] = k.head
	}
	return nil
}

// claims goes over the chain again for the heads on both sides of each resumption.
func (r *Record) claims() (list []claim) {
	again, err := empty(r.unit, r.grants)
	if err != nil {
		return nil
	}
	for _, s := range r.segments {
		before := again.head
		if again.Append(s) != nil {
			return nil // no record holds such a one
		}
		if s.Kind == Resumed {
			list = append(list, claim{origin: before, head: again.head})
		}
	}
	return list
}
