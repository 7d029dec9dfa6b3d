package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/journal"
	"github.com/joulebox/joulebox/store"
)

// recording takes a run's journal in, if one was asked for.
type recording struct {
	asked     bool
	container bytes.Buffer
	whole     *journal.Journal // nil if it isn't
	err       error            // why it isn't
}

// record has the run recorded under a salt of its own.
func (s *Supervisor) record(handed *host.BrokerConfig) (*recording, error) {
	r := &recording{}
	if handed.Journal == nil {
		return r, nil
	}
	r.asked = true
	c := *handed.Journal
	if _, err := io.ReadFull(s.config.Rand, c.Salt[:]); err != nil {
		return nil, fmt.Errorf("no salt for the journal: %w", err)
	}
	c.W = &r.container
	handed.Journal = &c
	return r, nil
}

// finish reads what came. A journal that isn't whole isn't attested: the run has
// its record without one, which says why.
func (r *recording) finish() {
	if r.asked {
		r.whole, r.err = journal.Read(r.container.Bytes())
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
	return async(func() (joulebox.ID, error) { return s.config.Objects.Put(ctx, r.container.Bytes()) })
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
