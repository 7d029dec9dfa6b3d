package warmpool

import (
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// Kind is what an entry says.
type Kind string

// The kinds of entries.
const (
	Warmed  Kind = "warmed"  // a slot waits, for one environment
	Accrued Kind = "accrued" // it has drawn that much more
	Claimed Kind = "claimed" // a run takes it, and what it drew
	Evicted Kind = "evicted" // nobody took it: what it drew is overhead
)

// Entry is one line of the books.
type Entry struct {
	Kind Kind `json:"kind"`
	Slot Slot `json:"slot"`
	// Environment is the address that a slot is warmed for, and that a run claims
	// one for; on these two kinds and no other.
	Environment joulebox.ID `json:"environment,omitzero"`
	// UJ is what a slot has drawn since it was asked last, in microjoules; on that
	// kind and no other.
	UJ joulebox.Microjoules `json:"uj,omitzero"`
}

// Canonical is the entry's RFC 8785 form.
func (e Entry) Canonical() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	return jcs.Marshal(e)
}

// ParseEntry reads an entry strictly: what it takes re-encodes to the same bytes.
func ParseEntry(src []byte) (e Entry, err error) {
	if err := jcs.Unmarshal(src, &e); err != nil {
		return Entry{}, fmt.Errorf("warm pool entry: %w", err)
	}
	return e, e.check()
}

func (e Entry) check() error {
	named := e.Kind == Warmed || e.Kind == Claimed
	switch {
	case !named && e.Kind != Accrued && e.Kind != Evicted:
		return fmt.Errorf("warm pool entry: kind: got %q, want one of %q %q %q %q", e.Kind, Warmed, Accrued, Claimed, Evicted)
	case named == e.Environment.IsZero():
		return fmt.Errorf("warm pool entry: environment: got %s on kind %q, want it on %q and %q", e.Environment, e.Kind, Warmed, Claimed)
	case (e.Kind == Accrued) != (e.UJ > 0):
		return fmt.Errorf("warm pool entry: uj: got %d on kind %q, want it above zero on %q and zero else", e.UJ, e.Kind, Accrued)
	}
	return nil
}
