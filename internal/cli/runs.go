package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/runrecord"
)

func newRuns(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "verify the records of runs that were suspended and resumed",
		Args:  cobra.ArbitraryArgs,
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(newRunsVerify(c))
	return cmd
}

type runsVerifyFlags struct {
	keys, bundles []string
	head          string
	asJSON        bool
}

func newRunsVerify(c *console) *cobra.Command {
	var f runsVerifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "check run records offline",
		Long: `Checks that each record's chain leads from its unit and grants to the heads that were
signed, and that every segment is allowed where it stands: a run resumes from the
snapshot that it was suspended with, and once. Over several records it finds a run
that went on twice. The bundles of executed intervals may be laid beside.

Exits with 0 when all is genuine, 1 when a check failed, 2 on a usage error, 3 when
nothing fails and something that trust needs is missing.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			keys, err := pinnedKeys(f.keys)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			list, err := f.verify(files, keys)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			return c.showAllChecked(list, f.asJSON)
		},
	}
	keyFlag(cmd, &f.keys)
	cmd.Flags().StringArrayVar(&f.bundles, "bundle", nil, "check the interval whose bundle is in `FILE` too")
	cmd.Flags().StringVar(&f.head, "head", "", "check that the record goes on from the signed head in `FILE`")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

func (f *runsVerifyFlags) verify(files []string, keys []bundle.Key) (list []*checkedObject, err error) {
	runs, err := bundlesByAttestation(f.bundles)
	if err != nil {
		return nil, err
	}
	var kept []byte
	if f.head != "" {
		if kept, err = os.ReadFile(f.head); err != nil {
			return nil, err
		}
	}
	var claims runrecord.Claims
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		o := newCheckedObject(file)
		if record := o.runRecord(src, kept, keys, runs); record != nil {
			o.check("resumed_once", claims.Add(record), "no other of these records goes on from the same suspension")
		}
		list = append(list, o)
	}
	return list, nil
}

// runRecord checks one record; nil is one that doesn't parse.
func (o *checkedObject) runRecord(src, kept []byte, keys []bundle.Key, runs runsByID) *runrecord.Record {
	f, err := runrecord.Parse(src)
	if !o.check("chain", err, "from the unit and its grants, each segment allowed where it stands") {
		return nil
	}
	o.ID = f.Record.Head()
	signers := map[string]bool{}
	for _, h := range f.Heads {
		signers[h.Seal().PublicKeyHex] = true
		o.check("head", h.VerifyClaimed(), fmt.Sprintf("signed over the first %d of %d segments", h.Length, f.Record.Len()))
	}
	for key := range signers {
		o.signer(key, keys)
	}
	if n := f.Unsigned(); n > 0 {
		o.add("tail", bundle.Unknown, fmt.Sprintf("the last %d of %d segments are unsigned: anybody could have added them", n, f.Record.Len()))
	}
	if kept != nil {
		h, err := runrecord.ParseHead(kept)
		if err == nil {
			err = errors.Join(h.VerifyClaimed(), f.Check(h))
		}
		o.check("kept_head", err, fmt.Sprintf("the record goes on from it, at %d segments", h.Length))
	}
	o.intervals(f.Record, runs, keys)
	return f.Record
}

// intervals checks the executed intervals whose bundles are here, and sums up.
func (o *checkedObject) intervals(r *runrecord.Record, runs runsByID, keys []bundle.Key) {
	executed, checked := 0, 0
	for _, s := range r.Segments() {
		if s.Kind != runrecord.Executed {
			continue
		}
		executed++
		if b := runs[s.Attestation]; b != nil {
			checked++
			o.check("interval", intervalOf(r, b, keys), fmt.Sprintf("%s is of this unit and its grants, and verifies", s.Attestation))
		}
	}
	if checked < executed {
		o.Notes = append(o.Notes, fmt.Sprintf("the bundles of %d of %d intervals aren't here: what they were was not checked", executed-checked, executed))
	}
	idle, err := r.Idle()
	if o.check("idle", err, fmt.Sprintf("%d microjoules while parked", idle)) {
		o.Notes = append(o.Notes, "the run's cost is its receipts' energy and "+formatEnergy(uint64(idle))+" of idle energy")
	}
}

func intervalOf(r *runrecord.Record, b *bundle.Bundle, keys []bundle.Key) error {
	f := b.Statement().Fields()
	if f.UnitID != r.Unit() || f.GrantsID != r.Grants() {
		return fmt.Errorf("%s is of unit %s and grants %s, want %s and %s", b.Statement().ID(), f.UnitID, f.GrantsID, r.Unit(), r.Grants())
	}
	report := b.Verify(bundle.Options{Pinned: keys, Challenge: b.Unit().Challenge})
	if report.Verdict == bundle.Invalid {
		return fmt.Errorf("%s doesn't verify: %s", b.Statement().ID(), names(report.Failures()))
	}
	return nil
}

// showAllChecked shows several; the worst verdict is the command's.
func (c *console) showAllChecked(list []*checkedObject, asJSON bool) error {
	worst := bundle.Valid
	for _, o := range list {
		if o.Verdict == bundle.Invalid || worst == bundle.Valid {
			worst = o.Verdict
		}
		if !asJSON {
			_ = c.showChecked(o, false)
		}
	}
	if asJSON {
		if err := c.document(list); err != nil {
			return err
		}
	}
	return quiet(worst.ExitCode())
}
