package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/ledger"
)

func newLedger(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "list, show, verify and export builds",
		Long: `The ledger holds the signed receipt of every build, chained so that none can be
changed, moved or taken out unseen.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newLedgerList(c), newLedgerShow(c), newLedgerVerify(c), newLedgerExport(c))
	return cmd
}

func newLedgerList(c *console) *cobra.Command {
	limit, asJSON := 20, false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list builds, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := []shownBuild{}
			l, err := openLedger(false)
			if err == nil {
				defer l.close()
				_, err = l.each(cmd.Context(), func(s ledger.Signed) error {
					b, err := newShownBuild(s)
					list = append(list, b)
					return err
				})
			}
			if err != nil && !errors.Is(err, errNoLedger) {
				return fail(exitFailed, err, "joulebox ledger verify says what is wrong")
			}
			slices.Reverse(list)
			if limit > 0 {
				list = list[:min(limit, len(list))]
			}
			if asJSON {
				return c.document(list)
			}
			for _, b := range list {
				fmt.Fprintf(c.out, "%s  %-10s %3d steps  %s\n", short(b.BuildID), b.word(), len(b.Steps), formatEnergy(uint64(b.Total.Estimated)))
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "show at most `N` builds; 0 is all of them")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (b shownBuild) word() string {
	if b.Completed {
		return "completed"
	}
	return "broke off"
}

func newLedgerShow(c *console) *cobra.Command {
	var asJSON, asReceipt bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "show one build by the beginning of one of its ids",
		Long: `Shows the newest build that has an id beginning with ID: its own, its receipt's or
that of one of its runs. With --receipt it prints the sealed receipt, which joulebox
ledger verify and anyone else can check.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := openLedger(false)
			if err != nil {
				return fail(exitFailed, err, "")
			}
			defer l.close()
			s, err := l.find(cmd.Context(), args[0])
			if err != nil {
				return fail(exitFailed, err, "joulebox ledger list shows what there is")
			}
			if asReceipt {
				text, err := s.Canonical()
				if err == nil {
					_, err = fmt.Fprintf(c.out, "%s\n", text)
				}
				return err
			}
			b, err := newShownBuild(s)
			switch {
			case err != nil:
				return fail(exitFailed, err, "")
			case asJSON:
				return c.document(b)
			}
			b.print(c.out)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asReceipt, "receipt", false, "print the sealed receipt")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (b shownBuild) print(w io.Writer) {
	line := func(name string, v any) { fmt.Fprintf(w, "%-12s %v\n", name, v) }
	line("build", b.BuildID)
	line("receipt", b.ReceiptID)
	line("intent", b.Intent)
	if !b.Prev.IsZero() {
		line("after", b.Prev)
	}
	line("outcome", b.word())
	line("energy", totalText(b.Total))
	for i, s := range b.Steps {
		fmt.Fprintf(w, "step %-7d %s  %s  %s\n", i, s.Tier, s.Outcome, totalText(s.Total))
		for _, id := range []struct {
			name string
			id   joulebox.ID
		}{{"unit", s.UnitID}, {"image", s.ImageID}, {"receipt", s.ReceiptID}, {"attestation", s.AttestationID}, {"eat", s.EAT}} {
			fmt.Fprintf(w, "  %-10s %s\n", id.name, id.id)
		}
	}
}

// totalText never lets an estimate pass for a measurement.
func totalText(t ledger.Total) string {
	if t.Measured != nil {
		return formatEnergy(uint64(*t.Measured)) + " measured"
	}
	return formatEnergy(uint64(t.Estimated)) + " estimated"
}
