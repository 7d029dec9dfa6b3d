package supervisor

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/journal"
	"github.com/joulebox/joulebox/store"
)

// recording takes a run's journal in, if one was asked for, and reads it while the
// run goes on.
type recording struct {
	asked     bool
	container []byte
	shown     int         // how much of it was shown to the reader
	parts     chan []byte // to the reader: the container as it was
	read      func() (*journal.Journal, error)
	whole     *journal.Journal // nil if it isn't
	err       error            // why it isn't
}

// record has the run recorded under a salt of its own.
func (s *Supervisor) record(handed *host.BrokerConfig) (*recording, error) {
	r := &recording{}
	if handed.Journal == nil {
		return r, nil
	}
	c := *handed.Journal
	if _, err := io.ReadFull(s.config.Rand, c.Salt[:]); err != nil {
		return nil, fmt.Errorf("no salt for the journal: %w", err)
	}
	r.asked, r.parts = true, make(chan []byte, 1)
	r.read = async(r.reader)
	c.W = r
	handed.Journal = &c
	return r, nil
}

// readAhead is how much of a journal comes between two looks of its reader.
const readAhead = 64 << 10

// Write implements io.Writer for the run, whose executor calls it from one
// goroutine.
func (r *recording) Write(p []byte) (int, error) {
	if free := cap(r.container) - len(r.container); free < len(p) {
		r.container = slices.Grow(r.container, len(r.container)+len(p)) // twice as much, at all sizes
	}
	r.container = append(r.container, p...)
	if len(r.container)-r.shown >= readAhead {
		select {
		case r.parts <- r.container:
			r.shown = len(r.container)
		default: // it's still reading, and sees this with the next part
		}
	}
	return len(p), nil
}

// reader reads what is written, and the rest when finish closes the channel.
func (r *recording) reader() (*journal.Journal, error) {
	var j journal.Reader
	for part := range r.parts {
		j.More(part)
	}
	return j.End(r.container)
}

// finish waits for the reader. A journal that isn't whole isn't attested: the run
// has its record without one, which says why. Every recording has to be finished.
func (r *recording) finish() {
	if r.asked {
		close(r.parts)
		r.whole, r.err = r.read()
		r.asked = false
	}
}

// root is what the attestation names; zero without a journal.
func (r *recording) root() joulebox.ID {
	if r.whole == nil {
		return joulebox.ID{}
	}
	return r.whole.Root()
}

// keepingJournal begins to put a whole journal, which only this user can read
// (§8), and returns what waits for it. Without one there is nothing to do.
func (s *Supervisor) keepingJournal(ctx context.Context, r *recording) func() (joulebox.ID, error) {
	if r.whole == nil {
		return func() (joulebox.ID, error) { return joulebox.ID{}, nil }
	}
	return async(func() (joulebox.ID, error) { return s.config.Objects.Put(ctx, r.container) })
}

// Journal finds the journal of a record in a store: the one in the bundle, or the
// object that was kept with the record. The error is store.ErrNotFound when the
// store has none.
func Journal(ctx context.Context, s store.Store, b *bundle.Bundle) ([]byte, error) {
	if j := b.Journal(); j != nil {
		return j, nil
	}
	want := b.Statement().Fields().JournalRoot
	for record, err := range s.Find(ctx, b.Statement().ID()) {
		if err != nil {
			return nil, err
		}
		for _, key := range record.Keys {
			data, err := s.Get(ctx, key)
			if err != nil {
				continue // most keys are no objects
			}
			if root, _, err := journal.Root(data); err == nil && root == want {
				return data, nil
			}
		}
	}
	return nil, store.ErrNotFound
}
