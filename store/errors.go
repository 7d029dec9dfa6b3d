package store

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/joulebox/joulebox"
)

// ErrNotFound is returned where no object or key is found.
var ErrNotFound = errors.New("store: not found")

// ErrClosed is returned by a store that was closed.
var ErrClosed = errors.New("store: closed")

// CorruptError says that kept bytes aren't what was written.
type CorruptError struct {
	What   string // the object's id, or the file
	Offset Offset // in a log; zero for an object
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Offset != 0 {
		return fmt.Sprintf("store: %s at offset %d: %s", e.What, e.Offset, e.Reason)
	}
	return fmt.Sprintf("store: %s: %s", e.What, e.Reason)
}

// FullError says that there was no room for a write. Nothing of it is left.
type FullError struct {
	What string
	Err  error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("store: no room for %s: %v: free some space and try again", e.What, e.Err)
}

// Unwrap returns the system's error, ENOSPC or EDQUOT as a rule.
func (e *FullError) Unwrap() error { return e.Err }

// VersionError says that a file was written by another version of this program.
type VersionError struct {
	Path, Got, Want string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("store: %s: got %q, want %q: a newer joulebox may have written it, or it isn't a store", e.Path, e.Got, e.Want)
}

// AmbiguousError says that several keys begin with a prefix.
type AmbiguousError struct {
	Prefix  string
	Matches []joulebox.ID // a few of them, sorted
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("store: %q begins several ids, %v among them: give more characters", e.Prefix, e.Matches)
}

// noRoom gives an error its type if a full disk is behind it.
func noRoom(what string, err error) error {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, io.ErrShortWrite} {
		if errors.Is(err, full) {
			return &FullError{What: what, Err: err}
		}
	}
	return err
}
