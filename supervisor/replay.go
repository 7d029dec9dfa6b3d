package supervisor

import (
	"context"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/journal"
	"github.com/joulebox/joulebox/receipt"
)

// ReplayError says in what the rerun differs from the record, or the journal from
// the bundle that it is to belong to.
type ReplayError struct{ What, Want, Got string }

func (e *ReplayError) Error() string {
	return fmt.Sprintf("replay: %s: got %s, want %s", e.What, e.Got, e.Want)
}

func differ(what string, want, got any) error {
	return &ReplayError{What: what, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
}

// ReadJournal reads a container as the journal of a bundle's run. It is refused,
// by the entry at fault where one is, unless its root is the one that is attested
// and it begins as the unit does. Whether the attestation holds is for the
// bundle's Verify.
func ReadJournal(b *bundle.Bundle, container []byte) (*journal.Journal, error) {
	j, err := journal.Read(container)
	if err != nil {
		return nil, err
	}
	u, want := b.Unit(), b.Statement().Fields().JournalRoot
	switch {
	case j.Root() != want:
		return nil, differ("journal_root", want, j.Root())
	case j.Begin.Unit != b.UnitID():
		return nil, differ("the journal's unit", b.UnitID(), j.Begin.Unit)
	case len(j.Begin.Args) == 0 || !slices.Equal(j.Begin.Args[1:], u.Entrypoint[1:]):
		return nil, differ("the journal's arguments", fmt.Sprintf("%q", u.Entrypoint[1:]), fmt.Sprintf("%q", j.Begin.Args))
	case j.Begin.Limits.Memory != b.Grants().Compute.MemoryBytes:
		return nil, differ("the journal's memory limit", b.Grants().Compute.MemoryBytes, j.Begin.Limits.Memory)
	}
	return j, moduleOf(b, j)
}

// moduleOf checks that the module that was run is the unit's.
func moduleOf(b *bundle.Bundle, j *journal.Journal) error {
	want, entry := b.Unit().ImageID, b.Unit().Entrypoint[0]
	if image := b.Image(); image != nil {
		file, ok := image.Module(entry)
		if !ok {
			return differ("the journal's module", fmt.Sprintf("a module of the image named %q", entry), j.Begin.Module)
		}
		want, entry = file.B3, ""
	}
	if j.Begin.Module != want {
		return differ("the journal's module", want, j.Begin.Module)
	}
	if j.Begin.Entry != entry {
		return differ("the journal's entry point", entry, j.Begin.Entry)
	}
	return nil
}

// Replay reruns a bundle's unit from its journal alone and compares how it ended
// with the record (§8). The errors are those of host.Replay.Run, and *ReplayError.
func Replay(ctx context.Context, engine *host.Engine, b *bundle.Bundle, r host.Replay) (*host.Replayed, error) {
	got, err := r.Run(ctx, engine)
	if err != nil {
		return nil, err
	}
	return got, compare(b, got)
}

func compare(b *bundle.Bundle, got *host.Replayed) error {
	want, outcome := b.Result(), b.Statement().Fields().Outcome
	if outcome.Breach().Tampering() {
		return nil // the unit's own ending isn't on the record
	}
	counts, cause := got.Exit.Counts, got.Exit.Cause
	if endedByMeter(b, got) {
		outcome, cause = got.Exit.Outcome, ""
	}
	switch {
	case got.Exit.Outcome != outcome:
		return differ("outcome", outcome, got.Exit.Outcome)
	case codeText(got.Exit.Code) != codeText(want.ExitCode):
		return differ("result.exit_code", codeText(want.ExitCode), codeText(got.Exit.Code))
	case cause != want.Cause:
		return differ("result.cause", want.Cause, cause)
	case counts.Instructions != want.Usage.Instructions:
		return differ("result.usage.instructions", want.Usage.Instructions, counts.Instructions)
	case counts.PeakMemory != want.Usage.PeakMemoryBytes:
		return differ("result.usage.peak_memory_bytes", want.Usage.PeakMemoryBytes, counts.PeakMemory)
	case got.Stdout != want.Stdout:
		return differ("result.stdout_b3", want.Stdout, got.Stdout)
	case got.Stderr != want.Stderr:
		return differ("result.stderr_b3", want.Stderr, got.Stderr)
	}
	return nil
}

// endedByMeter reports that the unit was ended from outside for its measured
// energy, which a journal has as a cancellation at that point: what the counters
// showed isn't the unit's to see again. The record's own energy has to be above the
// budget for that.
func endedByMeter(b *bundle.Bundle, got *host.Replayed) bool {
	if b.Statement().Fields().Outcome.Breach() != joulebox.BreachEnergy || got.Exit.Cause != host.CauseCancelled {
		return false
	}
	return slices.ContainsFunc(b.Receipt().Devices(), func(e receipt.Energy) bool { return e.Bound() > b.Grants().Compute.EnergyBudgetUJ })
}

func codeText(code *uint32) string {
	if code == nil {
		return "none"
	}
	return fmt.Sprint(*code)
}
