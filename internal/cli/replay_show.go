package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/journal"
)

// replayed is what a replay came to, as shown and as JSON.
type replayed struct {
	File         string         `json:"file"`
	Verdict      bundle.Verdict `json:"verdict"`
	Tier         string         `json:"tier,omitzero"`
	Outcome      string         `json:"outcome,omitzero"`
	UnitID       string         `json:"unit_id,omitzero"`
	Root         joulebox.ID    `json:"journal_root,omitzero"`
	Entries      uint64         `json:"entries,omitzero"`
	States       uint64         `json:"states,omitzero"` // that were compared
	Instructions uint64         `json:"instructions,omitzero"`
	Entry        uint64         `json:"entry,omitzero"` // the one at fault
	Want         string         `json:"want,omitzero"`
	Got          string         `json:"got,omitzero"`
	Error        string         `json:"error,omitzero"`
	Hint         string         `json:"hint,omitzero"`
}

// depart notes why the run isn't shown to be what the record says.
func (d *replayed) depart(err error) {
	d.Verdict, d.Error = bundle.Invalid, err.Error()
	var missing *host.MissingError
	var entry *journal.Error
	switch {
	case errors.As(err, &missing):
		d.Verdict, d.Hint = bundle.Incomplete, missing.Hint
	case errors.As(err, &entry):
		d.Entry, d.Want, d.Got = entry.Entry, entry.Want, entry.Got
	}
}

func (c *console) showReplayed(f replayFlags, d *replayed) error {
	w := c.out
	if f.output == "-" {
		w = c.err
	}
	if f.asJSON {
		return writeDocument(w, d)
	}
	if !f.quiet && d.Verdict == bundle.Valid {
		fmt.Fprintf(w, "ok   %-22s %s, over %d entries\n", "journal_root", d.Root, d.Entries)
		fmt.Fprintf(w, "ok   %-22s %d states, %d instructions, outcome and output are the same\n", "replay", d.States, d.Instructions)
	}
	if !f.quiet && d.Entry > 0 {
		fmt.Fprintf(w, "FAIL entry %-16d want %s\n     %-22s got  %s\n", d.Entry, d.Want, "", d.Got)
	}
	fmt.Fprintf(w, "%s: %s\n", d.File, d.text())
	if d.Hint != "" {
		fmt.Fprintf(c.err, "%s %s\n", c.paint(dim, "hint:"), d.Hint)
	}
	return nil
}

func (d *replayed) text() string {
	switch {
	case d.Verdict == bundle.Valid:
		return fmt.Sprintf("replayed (%s, %s)", d.Tier, d.Outcome)
	case d.Verdict == bundle.Incomplete:
		return "not replayed: " + d.Error
	case d.Entry > 0:
		return fmt.Sprintf("INVALID: departs at entry %d of the journal", d.Entry)
	}
	return "INVALID: " + d.Error
}

// secretValues are the values of secret variables, by name.
func secretValues(texts []string) (map[string]string, error) {
	env, err := environment(texts)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		values[name] = value
	}
	return values, nil
}

// replayOutput is where a replayed unit's standard output goes: a file that takes
// its name only once the replay is whole.
type replayOutput struct {
	w    io.Writer // nil is nowhere
	path string
	file *os.File
}

func (c *console) replayOutput(to string) (*replayOutput, error) {
	switch to {
	case "":
		return &replayOutput{}, nil
	case "-":
		return &replayOutput{w: c.out}, nil
	}
	f, err := beside(to)
	if err != nil {
		return nil, fmt.Errorf("--output: %w", err)
	}
	return &replayOutput{w: f, path: to, file: f}, nil
}

func (o *replayOutput) commit() error {
	if o.file == nil {
		return nil
	}
	f := o.file
	o.file = nil
	return replace(f, o.path, private, func(*os.File) error { return nil })
}

func (o *replayOutput) discard() {
	if o.file != nil {
		_ = o.file.Close()
		_ = os.Remove(o.file.Name())
	}
}
