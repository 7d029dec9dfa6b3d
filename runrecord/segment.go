package runrecord

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// Kind is what a segment says.
type Kind string

// The kinds of segments.
const (
	Started   Kind = "Started"   // the run begins: the first segment, and no other
	Executed  Kind = "Executed"  // an interval ran, and has its attestation
	Suspended Kind = "Suspended" // the state was taken and put away
	Resumed   Kind = "Resumed"   // the same state goes on
)

// Snapshot is a run's state by its contents (§13).
type Snapshot struct {
	FS     joulebox.ID `json:"fs"`              // the root of its file system
	Memory joulebox.ID `json:"memory,omitzero"` // the image of its memory, if one was taken
	// Manifest addresses its environment (§14): the same files in a drifted
	// toolchain are another snapshot.
	Manifest joulebox.ID `json:"manifest"`
}

// RunID is a run's name: random, so that no two runs of one unit share a record.
type RunID [16]byte

// Segment is one entry of a record. Each member is there on its kinds alone.
type Segment struct {
	Kind Kind
	// Run names the run; on Started.
	Run RunID
	// Origin is the head of the record that this run is a clone of, and Snapshot what
	// it was cloned from; on Started, both or neither.
	Origin joulebox.ID
	// Attestation is the interval's; on Executed.
	Attestation joulebox.ID
	// Snapshot is on Suspended and Resumed, and on the Started of a clone.
	Snapshot Snapshot
	// Idle is what the retained state drew while it was parked; on Resumed.
	Idle joulebox.Microjoules
}

type wire struct {
	Type        Kind                  `json:"type"`
	Run         string                `json:"run,omitzero"`
	Origin      joulebox.ID           `json:"origin,omitzero"`
	Attestation joulebox.ID           `json:"attestation_id,omitzero"`
	Snapshot    *Snapshot             `json:"snapshot,omitzero"`
	Idle        *joulebox.Microjoules `json:"idle_uj,omitzero"`
}

// Strict refuses stray trailing bits, so that a run has one spelling.
var runEncoding = base64.RawURLEncoding.Strict()

// Canonical is the segment's RFC 8785 form, which the chain is taken over.
func (s Segment) Canonical() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	w := wire{Type: s.Kind, Origin: s.Origin, Attestation: s.Attestation}
	if s.Kind == Started {
		w.Run = runEncoding.EncodeToString(s.Run[:])
	}
	if s.Snapshot != (Snapshot{}) {
		w.Snapshot = &s.Snapshot
	}
	if s.Kind == Resumed {
		w.Idle = &s.Idle
	}
	return jcs.Marshal(w)
}

// ParseSegment reads a segment; its members are closed, and what it takes re-encodes
// to the same bytes.
func ParseSegment(src []byte) (s Segment, err error) {
	var w wire
	if err := jcs.Unmarshal(src, &w); err != nil {
		return s, fmt.Errorf("segment: %w", err)
	}
	s = Segment{Kind: w.Type, Origin: w.Origin, Attestation: w.Attestation}
	if (w.Run != "") != (s.Kind == Started) || (w.Idle != nil) != (s.Kind == Resumed) {
		return s, fmt.Errorf("segment: run and idle_uj: want run on %q and no other, idle_uj on %q and no other", Started, Resumed)
	}
	if w.Run != "" {
		if err := s.Run.parse(w.Run); err != nil {
			return s, err
		}
	}
	if w.Snapshot != nil {
		if *w.Snapshot == (Snapshot{}) {
			return s, errors.New("segment: snapshot: is empty")
		}
		s.Snapshot = *w.Snapshot
	}
	if w.Idle != nil {
		s.Idle = *w.Idle
	}
	return s, s.check()
}

func (r *RunID) parse(text string) error {
	b, err := runEncoding.DecodeString(text)
	// The decoder skips line breaks, which the one spelling never holds.
	if err != nil || len(b) != len(r) || strings.ContainsAny(text, "\r\n") {
		return fmt.Errorf("segment: run: got %q, want unpadded base64url of %d bytes", text, len(r))
	}
	copy(r[:], b)
	return nil
}

// check holds each member to the kinds that it is on.
func (s Segment) check() error {
	none := s.Snapshot == Snapshot{}
	bad := func(what string) error { return fmt.Errorf("segment: %s: %s", s.Kind, what) }
	switch s.Kind {
	case Started:
		if s.Run == (RunID{}) {
			return bad("run: want 16 random bytes")
		}
		if none != s.Origin.IsZero() {
			return bad("a clone names its origin and its snapshot, and any other neither")
		}
	case Executed:
		if s.Attestation.IsZero() {
			return bad("attestation_id: missing")
		}
	case Suspended, Resumed:
		if none {
			return bad("snapshot: missing")
		}
	default:
		return fmt.Errorf("segment: type: got %q, want one of %q %q %q %q", s.Kind, Started, Executed, Suspended, Resumed)
	}
	switch {
	case s.Kind != Started && (s.Run != (RunID{}) || !s.Origin.IsZero()):
		return bad("run and origin are on Started alone")
	case s.Kind != Executed && !s.Attestation.IsZero():
		return bad("attestation_id is on Executed alone")
	case s.Kind == Executed && !none:
		return bad("snapshot isn't on Executed")
	case s.Kind != Resumed && s.Idle != 0:
		return bad("idle_uj is on Resumed alone")
	case !none && (s.Snapshot.FS.IsZero() || s.Snapshot.Manifest.IsZero()):
		return bad("snapshot: want fs and manifest")
	}
	return nil
}
