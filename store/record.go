package store

import (
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
)

// checkRecord bounds a record and returns its keys, each once.
func checkRecord(data []byte, keys []joulebox.ID) ([]joulebox.ID, error) {
	if len(data) > MaxRecordBytes {
		return nil, fmt.Errorf("store: record: got %d bytes, want at most %d: put it as an object and append its id", len(data), MaxRecordBytes)
	}
	distinct := make([]joulebox.ID, 0, len(keys))
	for i, k := range keys {
		if k.IsZero() {
			return nil, fmt.Errorf("store: record: key %d is the zero id, want the address of something", i)
		}
		if !slices.Contains(distinct, k) {
			distinct = append(distinct, k)
		}
	}
	if len(distinct) > MaxKeys {
		return nil, fmt.Errorf("store: record: got %d keys, want at most %d", len(distinct), MaxKeys)
	}
	return distinct, nil
}

func objectNotFound(id joulebox.ID) error {
	return fmt.Errorf("%w: object %s", ErrNotFound, id)
}

func notARecord(at Offset) error {
	return &CorruptError{What: "log", Offset: at, Reason: "no record begins here: give an offset that this log gave out"}
}
