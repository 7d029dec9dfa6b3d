package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/receipt"
)

// runRecord is a run as --json shows it: what the bundle says, in one flat
// document, without what only a verifier needs.
type runRecord struct {
	Program       []string         `json:"entrypoint"`
	Tier          joulebox.Tier    `json:"tier"`
	Outcome       joulebox.Outcome `json:"outcome"`
	ExitCode      *uint32          `json:"exit_code,omitzero"`
	Signal        uint32           `json:"signal,omitzero"`
	Cause         string           `json:"cause,omitzero"`
	Detail        string           `json:"detail,omitzero"`
	Energy        energyRecord     `json:"energy"`
	Usage         bundle.Usage     `json:"usage"`
	UnitID        joulebox.ID      `json:"unit_id"`
	ImageID       joulebox.ID      `json:"image_id"`
	GrantsID      joulebox.ID      `json:"grants_id"`
	ReceiptID     joulebox.ID      `json:"receipt_id"`
	AttestationID joulebox.ID      `json:"attestation_id"`
	JournalRoot   joulebox.ID      `json:"journal_root,omitzero"`
	StdinID       joulebox.ID      `json:"stdin_b3"`
	StdoutID      joulebox.ID      `json:"stdout_b3"`
	StderrID      joulebox.ID      `json:"stderr_b3"`
	Sequence      uint64           `json:"sequence"`
	PublicKey     string           `json:"public_key"`
	StartedAt     string           `json:"started_at"`
	FinishedAt    string           `json:"finished_at"`
	Denials       []denialRecord   `json:"denials,omitempty"` // the first few, for people
	Bundle        string           `json:"bundle,omitzero"`
}

// denialRecord is one access that was refused, and the smallest grant that would
// have allowed it.
type denialRecord struct {
	Reason string `json:"reason"`
	Grant  string `json:"grant,omitzero"`
}

// energyRecord has the field-wise total and one record a device class.
type energyRecord struct {
	MeasuredUJ  *joulebox.Microjoules `json:"measured_uj,omitzero"`
	EstimatedUJ joulebox.Microjoules  `json:"estimated_uj"`
	Devices     []deviceRecord        `json:"devices"`
}

type deviceRecord struct {
	Class       joulebox.DeviceClass  `json:"class"`
	Provenance  string                `json:"provenance"`
	MeasuredUJ  *joulebox.Microjoules `json:"measured_uj,omitzero"`
	EstimatedUJ joulebox.Microjoules  `json:"estimated_uj"`
}

func newRunRecord(b *bundle.Bundle) runRecord {
	r, f, k := b.Result(), b.Statement().Fields(), b.Receipt()
	return runRecord{
		Program: b.Unit().Entrypoint, Tier: f.Tier, Outcome: f.Outcome, ExitCode: r.ExitCode, Signal: r.Signal, Cause: r.Cause,
		Energy: newEnergyRecord(k.Devices()), Usage: r.Usage,
		UnitID: f.UnitID, ImageID: f.ImageID, GrantsID: f.GrantsID, ReceiptID: f.ReceiptID, AttestationID: b.Statement().ID(), JournalRoot: f.JournalRoot,
		StdinID: r.Stdin, StdoutID: r.Stdout, StderrID: r.Stderr,
		Sequence: k.Sequence(), PublicKey: b.Seal().PublicKeyHex, StartedAt: timeText(f.StartedAtUS), FinishedAt: timeText(f.FinishedAtUS),
	}
}

func timeText(us uint64) string {
	return time.UnixMicro(int64(us)).UTC().Format("2006-01-02T15:04:05.000000Z")
}

func newEnergyRecord(devices []receipt.Energy) (e energyRecord) {
	all := true
	var measured joulebox.Microjoules
	for _, d := range devices {
		line := deviceRecord{Class: d.Class(), Provenance: fmt.Sprint(d.Provenance()), EstimatedUJ: d.Estimated()}
		if m, ok := d.Measured(); ok {
			line.MeasuredUJ = &m
			measured += m
		} else {
			all = false
		}
		e.EstimatedUJ += d.Estimated()
		e.Devices = append(e.Devices, line)
	}
	if all {
		e.MeasuredUJ = &measured
	}
	return e
}

// summary is the one line that a run leaves on standard error.
func (r runRecord) summary(c *console) string {
	how := red
	switch {
	case r.Outcome == joulebox.Completed:
		how = green
	case r.ExitCode != nil:
		how = amber
	}
	return fmt.Sprintf("%s %s, %s; unit %s receipt %s attestation %s",
		r.Tier, c.paint(how, r.outcomeText()), r.Energy.text(), short(r.UnitID), short(r.ReceiptID), short(r.AttestationID))
}

// outcomeText is the outcome and what it leaves open.
func (r runRecord) outcomeText() string {
	switch {
	case r.ExitCode != nil && *r.ExitCode != 0:
		return fmt.Sprintf("%s (exit %d)", r.Outcome, *r.ExitCode)
	case r.Signal != 0:
		return fmt.Sprintf("%s (signal %d)", r.Outcome, r.Signal)
	case r.Detail != "":
		return fmt.Sprintf("%s (%s)", r.Outcome, r.Detail)
	case r.Cause != "":
		return fmt.Sprintf("%s (%s)", r.Outcome, r.Cause)
	}
	return r.Outcome.String()
}

// text names the provenance of each figure: an estimate must never pass for a
// measurement.
func (e energyRecord) text() string {
	parts := make([]string, len(e.Devices))
	for i, d := range e.Devices {
		figure := d.EstimatedUJ
		word := "estimated"
		if d.MeasuredUJ != nil {
			figure, word = *d.MeasuredUJ, "measured"
		}
		parts[i] = fmt.Sprintf("%s %s %s (%s)", d.Class, formatEnergy(uint64(figure)), word, d.Provenance)
	}
	return strings.Join(parts, " + ")
}

// short is the beginning of an id, which receipts show completes.
func short(id joulebox.ID) string { return id.String()[:13] }

// print shows the whole record as text, one fact a line.
func (r runRecord) print(w io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("entrypoint", "%q", r.Program)
	line("tier", "%s (%s)", r.Tier, r.Tier.Name())
	line("outcome", "%s", r.Outcome)
	if r.ExitCode != nil {
		line("exit code", "%d", *r.ExitCode)
	}
	if r.Cause != "" {
		line("cause", "%s", r.Cause)
	}
	for _, d := range r.Energy.Devices {
		line("energy", "%s", energyRecord{Devices: []deviceRecord{d}}.text())
	}
	line("started", "%s", r.StartedAt)
	line("finished", "%s", r.FinishedAt)
	line("instructions", "%d", r.Usage.Instructions)
	line("memory", "%d bytes at the most", r.Usage.PeakMemoryBytes)
	line("storage", "%d reads of %d bytes, %d writes of %d bytes, %d denied", r.Usage.IOReads, r.Usage.IOReadBytes, r.Usage.IOWrites, r.Usage.IOWrittenBytes, r.Usage.IODenied)
	for _, i := range []struct {
		name string
		id   joulebox.ID
	}{{"unit", r.UnitID}, {"image", r.ImageID}, {"grants", r.GrantsID}, {"receipt", r.ReceiptID}, {"attestation", r.AttestationID},
		{"stdin", r.StdinID}, {"stdout", r.StdoutID}, {"stderr", r.StderrID}} {
		line(i.name, "%s", i.id)
	}
	if !r.JournalRoot.IsZero() {
		line("journal", "%s", r.JournalRoot)
	}
	line("sequence", "%d", r.Sequence)
	line("signed by", "%s", r.PublicKey)
}

// exitCode is what the process exits with after a run that was recorded.
func (r runRecord) exitCode(interrupted int) int {
	switch {
	case r.Outcome.Breach() == joulebox.BreachMemory:
		return exitMemory
	case r.Outcome.Breach().Tampering():
		return exitDecline
	case r.Outcome.Breach() != "":
		return exitBudget
	case r.ExitCode != nil:
		return int(*r.ExitCode & 0xff)
	case r.Signal != 0:
		return 128 + int(r.Signal)
	case r.Cause == bundle.CauseCancelled:
		return 128 + interrupted
	}
	return exitTrap
}
