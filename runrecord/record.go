// Package runrecord is the record of one run that is suspended and resumed (§13): a
// hash chain over its segments, begun from its unit and grants, so that segments
// can't be changed, moved, or spliced into another run (conformance class C6).
//
//	h0  = BLAKE3("sandbox.run-record/1" ‖ unit ‖ grants)
//	h_i = BLAKE3("sandbox.run-record/1" ‖ h_(i-1) ‖ canonical segment)
//
// It is pure, and runs nothing: who suspends and resumes a run appends here, and is
// refused what a record doesn't allow. Whether two records claim one snapshot is
// for Claims to say.
package runrecord

import (
	"errors"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
)

const domain = "sandbox.run-record/1"

// Record is a run's record. The zero Record is of no run; see New.
type Record struct {
	unit, grants joulebox.ID
	head         joulebox.ID
	segments     []Segment
}

// New begins the record of a run of a unit under its grants.
func New(unit, grants joulebox.ID, run RunID) (*Record, error) {
	return begin(unit, grants, Segment{Kind: Started, Run: run})
}

// Clone begins the record of a run that goes on from a snapshot of another one,
// beside it: a record of its own, which names its origin by its head. The origin
// isn't changed, and must be suspended in that snapshot.
func Clone(origin *Record, run RunID) (*Record, error) {
	last := origin.last()
	if last.Kind != Suspended {
		return nil, fmt.Errorf("run record: clone: the origin's last segment is %q, want %q: there is no snapshot to go on from", last.Kind, Suspended)
	}
	if run == origin.Run() {
		return nil, errors.New("run record: clone: run: it has the origin's, want one of its own")
	}
	return begin(origin.unit, origin.grants, Segment{Kind: Started, Run: run, Origin: origin.head, Snapshot: last.Snapshot})
}

func begin(unit, grants joulebox.ID, first Segment) (*Record, error) {
	r, err := empty(unit, grants)
	if err != nil {
		return nil, err
	}
	return r, r.Append(first)
}

func empty(unit, grants joulebox.ID) (*Record, error) {
	if unit.IsZero() || grants.IsZero() {
		return nil, errors.New("run record: unit and grants: want both")
	}
	h := joulebox.NewHasher()
	_, _ = h.Write([]byte(domain))
	_, _ = h.Write(unit[:])
	_, _ = h.Write(grants[:])
	return &Record{unit: unit, grants: grants, head: h.ID()}, nil
}

// Unit and Grants address what the record is of.
func (r *Record) Unit() joulebox.ID   { return r.unit }
func (r *Record) Grants() joulebox.ID { return r.grants } // see Unit

// Head is the chain's head.
func (r *Record) Head() joulebox.ID { return r.head }

// Len is the number of segments.
func (r *Record) Len() uint64 { return uint64(len(r.segments)) }

// Run names the run.
func (r *Record) Run() RunID { return r.segments[0].Run }

// Segments is a copy of the segments.
func (r *Record) Segments() []Segment { return slices.Clone(r.segments) }

func (r *Record) last() Segment {
	if len(r.segments) == 0 {
		return Segment{}
	}
	return r.segments[len(r.segments)-1]
}

// Parked is the snapshot that the run is suspended in; false while it isn't.
func (r *Record) Parked() (Snapshot, bool) {
	last := r.last()
	return last.Snapshot, last.Kind == Suspended
}

// Append adds a segment, or changes nothing and says why it may not follow.
func (r *Record) Append(s Segment) error {
	text, err := s.Canonical()
	if err != nil {
		return err
	}
	if err := r.follows(s); err != nil {
		return fmt.Errorf("run record: segment %d: %w", len(r.segments), err)
	}
	h := joulebox.NewHasher()
	_, _ = h.Write([]byte(domain))
	_, _ = h.Write(r.head[:])
	_, _ = h.Write(text)
	r.head = h.ID()
	r.segments = append(r.segments, s)
	return nil
}

// SnapshotError says that a run was to be resumed from something else than what it
// was suspended in (§13).
type SnapshotError struct{ Recorded, Offered Snapshot }

func (e *SnapshotError) Error() string {
	for _, part := range []struct {
		name      string
		got, want joulebox.ID
	}{{"manifest", e.Offered.Manifest, e.Recorded.Manifest}, {"fs", e.Offered.FS, e.Recorded.FS}, {"memory", e.Offered.Memory, e.Recorded.Memory}} {
		if part.got != part.want {
			return fmt.Sprintf("snapshot: %s: got %s, want %s, which the run was suspended with", part.name, part.got, part.want)
		}
	}
	return "BUG(joulebox): a snapshot differs from itself"
}

// ErrNotSuspended says that a run was to be resumed that isn't parked: it was
// resumed already, or never suspended.
var ErrNotSuspended = errors.New("the run isn't suspended: a snapshot resumes once")

// follows says whether a segment may come next: Started first; a snapshot resumes
// once and is the one that was recorded; nothing but that follows a suspension.
func (r *Record) follows(s Segment) error {
	before := r.last()
	switch {
	case (s.Kind == Started) != (len(r.segments) == 0):
		return fmt.Errorf("got %q, want %q first and nowhere else", s.Kind, Started)
	case s.Kind == Resumed && before.Kind != Suspended:
		return ErrNotSuspended
	case s.Kind == Resumed && s.Snapshot != before.Snapshot:
		return &SnapshotError{before.Snapshot, s.Snapshot}
	case before.Kind == Suspended && s.Kind != Resumed:
		return fmt.Errorf("got %q after %q, want %q: a parked run does nothing", s.Kind, Suspended, Resumed)
	case s.Kind == Suspended && before.Kind != Executed:
		return fmt.Errorf("got %q after %q, want it after %q: what ran before it has its attestation", s.Kind, before.Kind, Executed)
	case s.Kind == Executed && r.has(s.Attestation):
		return fmt.Errorf("attestation %s stands in it already", s.Attestation)
	}
	return nil
}

func (r *Record) has(attestation joulebox.ID) bool {
	return slices.ContainsFunc(r.segments, func(s Segment) bool { return s.Kind == Executed && s.Attestation == attestation })
}

// Idle is the energy that the run's retained state drew while it was parked. The
// run's total is its receipts' energy and this.
func (r *Record) Idle() (sum joulebox.Microjoules, err error) {
	for _, s := range r.segments {
		if sum, err = sum.Add(s.Idle); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
