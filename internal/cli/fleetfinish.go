package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/fleet"
)

// The files of a fleet's folder.
const (
	leavesFile = "leaves.jsonl"
	recordFile = "fleet.json"
)

// fleetSummary is a fleet as it stands, worked out from its records.
type fleetSummary struct {
	Dir       string `json:"dir"`
	Items     int    `json:"items"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`   // the last attempt has a record and didn't complete
	Declined  int    `json:"declined"` // nothing has run
	Broken    int    `json:"broken"`   // it broke off, and has no record
	Open      int    `json:"open"`     // not begun
	// Attempts have a record each, and are the leaves, retries among them.
	Attempts    int    `json:"attempts"`
	MeasuredUJ  uint64 `json:"measured_uj"`  // of the attempts that have such a figure
	EstimatedUJ uint64 `json:"estimated_uj"` // of those that have no other
	// Root and Count are the sealed record's; left out when there is none.
	Root  joulebox.ID `json:"root,omitzero"`
	Count uint64      `json:"count,omitzero"`
}

// finish makes the list of leaves and the record, if every item has its place in it.
func (r *fleetRun) finish(ctx context.Context) error {
	s := fleetSummary{Dir: r.dir, Items: len(r.journal.items)}
	for i := range r.journal.items {
		s.count(&r.journal.items[i])
	}
	record, err := r.leaves(ctx, &s)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	missing := s.Declined + s.Broken + s.Open
	if s.Attempts > 0 && (missing == 0 || r.flags.partial) {
		signed, err := fleet.Sign(r.house.key, record)
		if err == nil {
			s.Root, s.Count = record.Root, record.Count
			err = writeSigned(filepath.Join(r.dir, recordFile), signed)
		}
		if err != nil {
			return fail(exitFailed, err, "")
		}
	}
	if r.flags.asJSON {
		err = r.document(s)
	} else {
		r.showFleet(s, missing)
	}
	if err == nil && s.Completed < s.Items {
		return quiet(exitFailed)
	}
	return err
}

func (s *fleetSummary) count(i *itemState) {
	s.Attempts += i.ended
	switch {
	case i.done:
		s.Completed++
	case i.kind == fleetEnded:
		s.Failed++
	case i.kind == fleetDeclined:
		s.Declined++
	case i.kind == "":
		s.Open++
	default:
		s.Broken++
	}
}

// leaves writes the list, one line for each attempt that has a record, in the order
// of items and attempts, and adds up what they cost.
func (r *fleetRun) leaves(ctx context.Context, s *fleetSummary) (record fleet.Record, err error) {
	tree := fleet.NewBuilder()
	err = writeFile(filepath.Join(r.dir, leavesFile), func(f *os.File) error {
		w := bufio.NewWriter(f)
		var line []byte
		for index := range r.journal.items {
			for attempt, attestation := range r.journal.items[index].attempts {
				if attestation.IsZero() {
					continue
				}
				l, err := r.leaf(ctx, index, attempt, attestation, s)
				if err != nil {
					return fmt.Errorf("item %d: %w", index, err)
				}
				if err := tree.Append(l); err != nil {
					return err
				}
				line = l.AppendLine(line[:0])
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
		}
		return w.Flush()
	})
	if err != nil || s.Attempts == 0 {
		return record, err
	}
	return tree.Record()
}

// leaf reads an attempt's record, where it lies or from the store, and adds it up.
func (r *fleetRun) leaf(ctx context.Context, index, attempt int, attestation joulebox.ID, s *fleetSummary) (l fleet.Leaf, err error) {
	_, item, err := parseItem(r.lines[index])
	if err != nil {
		return l, err
	}
	b, err := readBundle(r.bundlePath(index, attempt))
	if errors.Is(err, fs.ErrNotExist) {
		if b, err = r.kept(ctx, attestation); err == nil {
			err = r.writeBundle(index, attempt, b)
		}
	}
	if err != nil {
		return l, err
	}
	if got := b.Statement().ID(); got != attestation {
		return l, fmt.Errorf("%s: got attestation %s, want %s: the file was changed; remove it, and the store's own is put there", r.bundlePath(index, attempt), got, attestation)
	}
	r.checkOutput(index, attempt, b)
	e := newEnergyRecord(b.Receipt().Devices())
	if e.MeasuredUJ != nil {
		s.MeasuredUJ, err = addJoules(s.MeasuredUJ, uint64(*e.MeasuredUJ))
	} else {
		s.EstimatedUJ, err = addJoules(s.EstimatedUJ, uint64(e.EstimatedUJ))
	}
	return fleet.Leaf{Item: item, Attestation: attestation}, err
}

// checkOutput says when the files beside a record aren't what the unit wrote: the
// machine may have stopped before they were on the disk.
func (r *fleetRun) checkOutput(index, attempt int, b *bundle.Bundle) {
	path := filepath.Join(r.dir, "output", r.name(index, attempt))
	for _, f := range []struct {
		path string
		want joulebox.ID
	}{{path + ".out", b.Result().Stdout}, {path + ".err", b.Result().Stderr}} {
		if got, err := r.address(f.path); err != nil || got != f.want {
			r.console.note("%s isn't what the unit wrote: its record has %s", f.path, f.want)
		}
	}
}

func (r *fleetRun) kept(ctx context.Context, attestation joulebox.ID) (*bundle.Bundle, error) {
	for record, err := range r.house.store.Find(ctx, attestation) {
		if err != nil {
			return nil, err
		}
		return bundle.Parse(record.Data)
	}
	return nil, fmt.Errorf("attestation %s isn't in the store", attestation)
}

func readBundle(path string) (*bundle.Bundle, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return bundle.Parse(src)
}

// writeSigned writes a signed object as one line.
func writeSigned(path string, o interface{ Canonical() ([]byte, error) }) error {
	text, err := o.Canonical()
	if err != nil {
		return err
	}
	return writeFile(path, func(w *os.File) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

func (r *fleetRun) showFleet(s fleetSummary, missing int) {
	r.console.note("%d of %d items completed, %d failed, %d declined, %d broken off, %d open; %d attempts, %s", s.Completed, s.Items, s.Failed, s.Declined, s.Broken, s.Open, s.Attempts, s.energyText())
	switch {
	case s.Count > 0:
		r.console.note("sealed: root %s over %d runs in %s", s.Root, s.Count, filepath.Join(s.Dir, recordFile))
	case missing > 0:
		r.console.note("not sealed: %d items have no record; --seal-partial seals the others", missing)
	}
}

func (s fleetSummary) energyText() string {
	switch {
	case s.MeasuredUJ == 0:
		return formatEnergy(s.EstimatedUJ) + " estimated"
	case s.EstimatedUJ == 0:
		return formatEnergy(s.MeasuredUJ) + " measured"
	}
	return formatEnergy(s.MeasuredUJ) + " measured and " + formatEnergy(s.EstimatedUJ) + " estimated"
}
