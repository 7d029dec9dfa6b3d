// Package store keeps what a run leaves behind: objects by their content
// address (§3) and an append-only log of records. It never makes or checks a
// signature: what it gives back is bytes, and the reader verifies them.
//
// The one rule for writers is order: an object is durable when Put returns, a
// record when Append returns, so whoever puts first and appends then never
// leaves a record that names an object which a crash took away. Keep does both
// in that order.
//
// Dir is a store on disk, Memory one for tests and embedders. Both pass the
// suite in storetest.
package store

import (
	"context"
	"iter"

	"github.com/joulebox/joulebox"
)

// Objects keeps bytes by their content address.
type Objects interface {
	// Put keeps data and returns its address. It returns when the object is
	// durable. What is there already costs next to nothing to put again.
	Put(ctx context.Context, data []byte) (joulebox.ID, error)
	// Get returns an object whose bytes were checked against id. Without one the
	// error is ErrNotFound; with one that was changed it is a *CorruptError.
	Get(ctx context.Context, id joulebox.ID) ([]byte, error)
	// Has reports whether there is an object under id. It doesn't read the bytes.
	Has(ctx context.Context, id joulebox.ID) (bool, error)
}

// Offset is a place in a log, in bytes. The first record's offset isn't zero;
// zero stands for the beginning. An offset never changes once it was given.
type Offset int64

// Record is one entry of a log.
type Record struct {
	Offset Offset        // where the record begins
	Next   Offset        // where the next one will begin
	Keys   []joulebox.ID // the ids that the record is found by
	Data   []byte
}

// Log is an append-only sequence of records.
type Log interface {
	// Append adds a record that can be found by each of keys (its attestation
	// id, receipt id, unit id, say). It returns when the record is durable. If it
	// fails, the record isn't there and never will be, unless the disk refused to
	// take back what it had refused to keep; then every later Append fails too.
	// After a crash in mid-append a record may be there though nobody was told.
	// A cancelled ctx ends the wait for the log, not a write that has begun.
	Append(ctx context.Context, data []byte, keys ...joulebox.ID) (Offset, error)
	// Records yields the records from an offset on, oldest first, up to the end
	// of the log at the time the end is reached. To follow a log, begin again at
	// the last record's Next. The first error ends the sequence.
	Records(ctx context.Context, from Offset) iter.Seq2[Record, error]
	// Recent yields the records that are there at the call, newest first.
	Recent(ctx context.Context) iter.Seq2[Record, error]
}

// Index finds records by their keys. It is made from the log and never trusted
// over it: each record that Find yields was read from the log and has the key.
type Index interface {
	// Resolve completes the beginning of a key's text ("b3:x7Q", or "x7Q") to the
	// one key that begins with it. Errors: ErrNotFound, *AmbiguousError.
	Resolve(ctx context.Context, prefix string) (joulebox.ID, error)
	// Find yields the records that have the key, oldest first; none is no error.
	Find(ctx context.Context, key joulebox.ID) iter.Seq2[Record, error]
}

// Store is all three over one place.
type Store interface {
	Objects
	Log
	Index
	Close() error
}

// MaxKeys is how many keys a record may have; a key given twice counts once.
const MaxKeys = 64

// MaxRecordBytes bounds one record's data. Anything larger is an object.
const MaxRecordBytes = 64 << 20

// Keep puts objects and then appends the record, so that the record never
// refers to what a crash took away.
func Keep(ctx context.Context, s interface {
	Objects
	Log
}, objects [][]byte, record []byte, keys ...joulebox.ID) (Offset, error) {
	for _, o := range objects {
		if _, err := s.Put(ctx, o); err != nil {
			return 0, err
		}
	}
	return s.Append(ctx, record, keys...)
}
