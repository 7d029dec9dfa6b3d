package bundle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// The causes with a meaning of their own. A cause is a word of a-z, 0-9 and _,
// at most 32 long; others may be read, say nothing to the checks, and are shown.
const (
	// CauseCancelled: the run was ended from outside; its outcome is Failed.
	CauseCancelled = "cancelled"
	// CauseSuspended: this interval ended in a snapshot; its outcome is Completed.
	CauseSuspended = "suspended"
	// CauseTrap: the unit trapped; its outcome is Failed, and it has neither an
	// exit code nor a signal.
	CauseTrap = "trap"
)

// Result is how a run ended and what it used. ResultID of the attestation
// addresses it.
//
// At most one of ExitCode and Signal is there. A breach has no exit code, a trap
// has neither, and so has a suspended interval.
type Result struct {
	// Cause says why, where exit code, signal and breach don't.
	Cause string `json:"cause,omitzero"`
	// ExitCode is the unit's exit code, all 32 bits of it.
	ExitCode *uint32 `json:"exit_code,omitzero"`
	// Signal is the number of the signal that ended a native unit, 1 to 64.
	Signal uint32 `json:"signal,omitzero"`
	// Stderr, Stdin and Stdout address the bytes of the three streams.
	Stderr joulebox.ID `json:"stderr_b3"`
	Stdin  joulebox.ID `json:"stdin_b3"`
	Stdout joulebox.ID `json:"stdout_b3"`
	// Usage counts what the run used.
	Usage Usage `json:"usage"`
}

// Usage counts what a run used. A count of zero is left out of the JSON. Each is
// at most 2^53-1.
type Usage struct {
	// Connections opened and denied.
	Connections       uint64 `json:"connections,omitzero"`
	ConnectionsDenied uint64 `json:"connections_denied,omitzero"`
	// CPUUS is the processor time of the whole tree, in microseconds.
	CPUUS uint64 `json:"cpu_us,omitzero"`
	// Execs are programs started, and denied.
	Execs       uint64 `json:"execs,omitzero"`
	ExecsDenied uint64 `json:"execs_denied,omitzero"`
	// IdleUJ is energy that kept state drew while no run did, in microjoules.
	IdleUJ uint64 `json:"idle_uj,omitzero"`
	// Instructions are metered instructions.
	Instructions uint64 `json:"instructions,omitzero"`
	// IO counts operations, denied operations, and bytes.
	IODenied       uint64 `json:"io_denied,omitzero"`
	IOReadBytes    uint64 `json:"io_read_bytes,omitzero"`
	IOReads        uint64 `json:"io_reads,omitzero"`
	IOWrites       uint64 `json:"io_writes,omitzero"`
	IOWrittenBytes uint64 `json:"io_written_bytes,omitzero"`
	// PeakMemoryBytes is the most memory resident at once.
	PeakMemoryBytes uint64 `json:"peak_memory_bytes,omitzero"`
	// WallUS is the run's duration, in microseconds.
	WallUS uint64 `json:"wall_us,omitzero"`
}

// Validate reports what no outcome allows.
func (r Result) Validate() error {
	for _, s := range []struct {
		name string
		id   joulebox.ID
	}{{"stdin_b3", r.Stdin}, {"stdout_b3", r.Stdout}, {"stderr_b3", r.Stderr}} {
		if s.id.IsZero() {
			return fmt.Errorf("result.%s: is the zero id, want the address of the stream's bytes (of none, that of the empty string)", s.name)
		}
	}
	switch {
	case r.ExitCode != nil && r.Signal != 0:
		return fmt.Errorf("result: got exit_code %d and signal %d, want at most one", *r.ExitCode, r.Signal)
	case r.Signal > 64:
		return fmt.Errorf("result.signal: got %d, want 1 to 64", r.Signal)
	case len(r.Cause) > 32 || strings.Trim(r.Cause, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return fmt.Errorf("result.cause: got %q, want a word of a-z, 0-9 and _, at most 32 long", r.Cause)
	}
	return nil
}

// Fits reports whether the result can have this outcome: 0 is Completed, another
// exit code, a trap or a signal is Failed, and a breach has no exit code.
func (r Result) Fits(o joulebox.Outcome) error {
	if !o.Valid() {
		return errors.New("outcome: is not of the closed set")
	}
	switch {
	case o.Breach() != "" && r.ExitCode != nil:
		return fmt.Errorf("result.exit_code: got %d with outcome %s, want none: a breach has no exit code", *r.ExitCode, o)
	case o != joulebox.Failed && r.Cause == CauseCancelled, o != joulebox.Failed && r.Cause == CauseTrap,
		o != joulebox.Completed && r.Cause == CauseSuspended:
		return fmt.Errorf("result.cause: %q doesn't go with outcome %s", r.Cause, o)
	case r.Cause == CauseTrap && (r.ExitCode != nil || r.Signal != 0):
		return errors.New("result.cause: \"trap\" doesn't go with an exit code or a signal")
	case o == joulebox.Failed && r.ExitCode != nil && *r.ExitCode == 0:
		return errors.New("result.exit_code: got 0 with outcome Failed, want another code, a signal or neither")
	case o == joulebox.Completed && r.Cause == CauseSuspended && (r.ExitCode != nil || r.Signal != 0):
		return errors.New("result: a suspended interval has neither exit_code nor signal")
	case o == joulebox.Completed && r.Cause != CauseSuspended && (r.ExitCode == nil || *r.ExitCode != 0):
		return errors.New("result.exit_code: want 0 with outcome Completed")
	}
	return nil
}

// Canonical is the JCS form that result_id is taken over.
func (r Result) Canonical() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return jcs.Marshal(r)
}

// ID is the result id.
func (r Result) ID() (joulebox.ID, error) {
	b, err := r.Canonical()
	if err != nil {
		return joulebox.ID{}, err
	}
	return joulebox.Sum(b), nil
}
