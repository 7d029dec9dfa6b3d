package cli

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/store"
)

// journalSchema marks the first entry of a fleet run's journal.
const journalSchema = "joulebox.fleet-run/1"

// fleetEntry is one entry: the first says which run this is, the others what became
// of an item. Each is on the disk before what it says is acted on.
type fleetEntry struct {
	Schema string      `json:"schema,omitzero"`
	File   joulebox.ID `json:"file,omitzero"`  // of the items
	Nonce  string      `json:"nonce,omitzero"` // base64url of 16 random bytes

	Kind        string      `json:"kind"`
	Index       int         `json:"index"`
	Attempt     int         `json:"attempt"`
	Unit        joulebox.ID `json:"unit,omitzero"` // that is about to run: of this attempt alone
	Attestation joulebox.ID `json:"attestation,omitzero"`
	Completed   bool        `json:"completed,omitzero"`
	Reason      string      `json:"reason,omitzero"`
}

// The kinds of entries.
const (
	fleetOpened   = "opened"
	fleetBegun    = "begun"    // the attempt is about to run
	fleetEnded    = "ended"    // it has its record
	fleetDeclined = "declined" // nothing of it has run
	fleetBroken   = "broken"   // it broke off with the process that ran it, and has no record
)

// itemState is what the journal says of one item.
type itemState struct {
	kind     string        // of the last entry; empty before the first
	unit     joulebox.ID   // of the attempt that is under way
	attempts []joulebox.ID // their attestations; zero for one without a record
	ended    int           // attempts that have a record
	done     bool
	reason   string
}

// fleetJournal is the journal of one run of a fleet.
type fleetJournal struct {
	log   *store.DirLog
	nonce []byte
	items []itemState
}

// openFleetJournal opens or begins the journal in a folder for a file of so many
// items. A folder that has another file's journal is refused.
func openFleetJournal(ctx context.Context, dir string, file joulebox.ID, count int) (j *fleetJournal, err error) {
	j = &fleetJournal{items: make([]itemState, count)}
	if j.log, err = store.OpenLog(filepath.Join(dir, "journal")); err != nil {
		return nil, err
	}
	for record, err := range j.log.Records(ctx, 0) {
		var e fleetEntry
		if err == nil {
			err = jcs.Unmarshal(record.Data, &e)
		}
		if err == nil {
			err = j.replay(e, file)
		}
		if err != nil {
			j.log.Close()
			return nil, fmt.Errorf("the journal in %s: %w", dir, err)
		}
	}
	if j.nonce == nil {
		err = j.begin(ctx, file)
	}
	return j, err
}

func (j *fleetJournal) begin(ctx context.Context, file joulebox.ID) error {
	j.nonce = make([]byte, 16)
	if _, err := rand.Read(j.nonce); err != nil {
		return err
	}
	return j.append(ctx, fleetEntry{Schema: journalSchema, File: file, Nonce: base64.RawURLEncoding.EncodeToString(j.nonce), Kind: fleetOpened})
}

func (j *fleetJournal) replay(e fleetEntry, file joulebox.ID) (err error) {
	if j.nonce == nil {
		switch {
		case e.Schema != journalSchema || e.Kind != fleetOpened:
			return fmt.Errorf("schema: got %q, want %q", e.Schema, journalSchema)
		case e.File != file:
			return fmt.Errorf("it is of another file of items, %s, and this one is %s: give it a folder of its own with --dir", e.File, file)
		}
		j.nonce, err = base64.RawURLEncoding.DecodeString(e.Nonce)
		return err
	}
	return j.apply(e)
}

// apply takes an entry into the state of its item. An attempt begins and then comes
// out one way; one that is declined need not begin.
func (j *fleetJournal) apply(e fleetEntry) error {
	if e.Index < 0 || e.Index >= len(j.items) {
		return fmt.Errorf("index: got %d of %d items", e.Index, len(j.items))
	}
	s := &j.items[e.Index]
	begun := s.kind == fleetBegun
	if e.Kind == fleetBegun || e.Kind == fleetDeclined && !begun {
		if begun || s.done || e.Attempt != len(s.attempts) || (e.Kind == fleetBegun) == e.Unit.IsZero() {
			return outOfOrder(e, s)
		}
		s.attempts = append(s.attempts, joulebox.ID{})
		s.kind, s.unit, s.reason = e.Kind, e.Unit, e.Reason
		return nil
	}
	known := e.Kind == fleetEnded || e.Kind == fleetBroken || e.Kind == fleetDeclined
	if !known || !begun || e.Attempt != len(s.attempts)-1 || (e.Kind == fleetEnded) == e.Attestation.IsZero() {
		return outOfOrder(e, s)
	}
	if e.Kind == fleetEnded {
		s.ended++
	}
	s.attempts[e.Attempt], s.done, s.reason, s.kind = e.Attestation, e.Completed, e.Reason, e.Kind
	return nil
}

func outOfOrder(e fleetEntry, s *itemState) error {
	return fmt.Errorf("item %d: got %q of attempt %d after %q and %d attempts", e.Index, e.Kind, e.Attempt, s.kind, len(s.attempts))
}

// append writes an entry to the disk, and no more.
func (j *fleetJournal) append(ctx context.Context, e fleetEntry) error {
	text, err := jcs.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.log.Append(ctx, text)
	return err
}

// challenge makes each attempt's unit one of its kind, so that the record of an
// attempt is found by its unit's id even if the process was gone before it said so.
func (j *fleetJournal) challenge(index, attempt int) []byte {
	b := append([]byte(journalSchema), j.nonce...)
	b = binary.BigEndian.AppendUint64(b, uint64(index))
	b = binary.BigEndian.AppendUint64(b, uint64(attempt))
	sum := joulebox.Sum(b)
	return sum[:16]
}

func (j *fleetJournal) close() { _ = j.log.Close() }
