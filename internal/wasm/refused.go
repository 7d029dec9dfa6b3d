package wasm

import (
	"fmt"
	"strings"
)

// Refusal is the kind of a RefusedError.
type Refusal string

// The kinds of refusal.
const (
	RefusedInvalid       Refusal = "invalid module"
	RefusedLimit         Refusal = "past a limit"
	RefusedImport        Refusal = "import"
	RefusedEntry         Refusal = "entry point"
	RefusedMemory        Refusal = "memory"
	RefusedCompileTime   Refusal = "compile time"
	RefusedCompileMemory Refusal = "compile memory"
)

// RefusedError says that a module can't be run as it was handed over. Nothing of
// it has run.
type RefusedError struct {
	Reason Refusal
	Msg    string
	Offset int64 // where in the module, or -1

	// Needed and Granted are bytes, for RefusedMemory.
	Needed, Granted uint64
}

func (e *RefusedError) Error() string {
	if e.Offset >= 0 {
		return fmt.Sprintf("module refused: %s: at offset %#x: %s", e.Reason, e.Offset, e.Msg)
	}
	return fmt.Sprintf("module refused: %s: %s", e.Reason, e.Msg)
}

func refuse(why Refusal, format string, args ...any) *RefusedError {
	return &RefusedError{Reason: why, Offset: -1, Msg: fmt.Sprintf(format, args...)}
}

// InternalError is a fault of the host: a host function that panicked, or an
// engine that broke. The guest's run is lost and its counts say nothing.
type InternalError struct {
	Err error // may hold stack traces
}

// Error is the first line of what there is to say.
func (e *InternalError) Error() string {
	line, _, _ := strings.Cut(e.Err.Error(), "\n")
	return "wasm engine: " + line
}

func (e *InternalError) Unwrap() error { return e.Err }
