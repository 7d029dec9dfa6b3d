package bundle

import "slices"

// WithJournal is the bundle with a journal in it, or without one if container is
// nil. Nothing that is signed changes: the attestation names the journal's root,
// and Verify says whether this is the journal.
func (b *Bundle) WithJournal(container []byte) *Bundle {
	with := *b
	with.raw.journal = slices.Clone(container)
	return &with
}
