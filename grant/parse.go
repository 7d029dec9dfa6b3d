package grant

import (
	"bytes"
	"fmt"

	"github.com/joulebox/joulebox/internal/jcs"
)

// Parse reads grants as they are signed: JSON with all eight members and each
// of their members, but for the ceilings and hash lists that the standard leaves
// out when unset. What it accepts re-encodes to the same canonical bytes. The
// error is [Errors] where the members are at fault, with all of them.
func Parse(src []byte) (Set, error) {
	root, err := jsonTree(src)
	if err != nil {
		return Set{}, located(src, err)
	}
	r := reader{src: src}
	s := r.set(root)
	if err := r.errs.err(); err != nil {
		return Set{}, err
	}
	got, err := s.Canonical()
	if err != nil {
		return Set{}, err
	}
	want, err := jcs.Strict(src)
	if err != nil {
		return Set{}, fmt.Errorf("grants: %w", err)
	}
	if !bytes.Equal(got, want) {
		return Set{}, fmt.Errorf("BUG(joulebox): grants re-encode to other bytes")
	}
	return s, nil
}

// maxHuman bounds what people write; the largest valid grant is far below it.
const maxHuman = 1 << 20

// ParseHuman reads grants as people write them, in JSON or YAML: what is left
// out is denied, a ceiling may be null, a budget that is left out takes the
// value of defaults. Sizes, times and energies may carry a unit ("64MiB", "30s",
// "5J"), hosts may be in any case or script. The result is normalized (sorted,
// without repeats), so that the same wish has the same id however it is written.
func ParseHuman(src []byte, defaults Compute) (Set, error) {
	if len(src) > maxHuman {
		return Set{}, fmt.Errorf("grants: got %d bytes, want at most %d", len(src), maxHuman)
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff")) // some editors write one
	root, err := humanTree(src)
	if err != nil {
		return Set{}, located(src, err)
	}
	r := reader{src: src, human: true}
	s := r.set(root)
	if err := r.errs.err(); err != nil {
		return Set{}, err
	}
	return s.finish(defaults, r.maxSet)
}

// DefaultProcesses is how many spawned processes there may be at once where a
// person granted exec and left max_processes out.
const DefaultProcesses = 16

// finish makes of a person's grants what is hashed.
func (s Set) finish(defaults Compute, maxSet bool) (Set, error) {
	s.normalize()
	s.Compute = s.Compute.or(defaults)
	if s.Process.Exec && !maxSet {
		s.Process.MaxProcesses = DefaultProcesses
	}
	if err := s.Validate(); err != nil {
		return Set{}, err
	}
	return s, nil
}

// or fills budgets that are unset.
func (c Compute) or(defaults Compute) Compute {
	if c.EnergyBudgetUJ == 0 {
		c.EnergyBudgetUJ = defaults.EnergyBudgetUJ
	}
	if c.CPUTimeMS == 0 {
		c.CPUTimeMS = defaults.CPUTimeMS
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = defaults.MemoryBytes
	}
	return c
}
