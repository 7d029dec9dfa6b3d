package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/store"
)

func newReceipts(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receipts",
		Short: "list and show the records of past runs",
		Args:  cobra.ArbitraryArgs,
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(newReceiptsList(c), newReceiptsShow(c), newReceiptsExport(c))
	return cmd
}

func newReceiptsList(c *console) *cobra.Command {
	limit, asJSON := 20, false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list past runs, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := recent(cmd.Context(), limit)
			if err != nil {
				return fail(exitFailed, err, "")
			}
			if asJSON {
				return c.document(list)
			}
			for _, r := range list {
				fmt.Fprintf(c.out, "%s  %s  %-30s %s  %s\n", r.StartedAt[:19], r.Tier, r.outcomeText(), short(r.AttestationID), r.Energy.text())
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "show at most `N` runs; 0 is all of them")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// recent reads the newest records; what can't be read is an error, since a
// record that was changed on disk must not just be missing from a list.
func recent(ctx context.Context, limit int) (list []runRecord, err error) {
	list = []runRecord{}
	s, err := openStore()
	if errors.Is(err, errNoStore) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for record, err := range s.Recent(ctx) {
		if err != nil {
			return nil, err
		}
		b, err := bundle.Parse(record.Data)
		if err != nil {
			return nil, fmt.Errorf("the record at %d of the log: %w", record.Offset, err)
		}
		list = append(list, newRunRecord(b))
		if len(list) == limit {
			break
		}
	}
	return list, nil
}

func newReceiptsShow(c *console) *cobra.Command {
	var asJSON, asBundle bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "show one record by the beginning of one of its ids",
		Long: `Shows the newest record that has an id beginning with ID: the attestation's, the
receipt's, the unit's or the image's. With --bundle it prints the bundle, which
joulebox verify and anyone else can check.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := findRecord(cmd.Context(), args[0])
			if err != nil {
				return fail(exitFailed, err, "joulebox receipts list shows what there is")
			}
			switch {
			case asBundle:
				_, err = c.out.Write(bundleText(b))
				return err
			case asJSON:
				return c.document(newRunRecord(b))
			}
			newRunRecord(b).print(c.out)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asBundle, "bundle", false, "print the bundle")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func findRecord(ctx context.Context, prefix string) (*bundle.Bundle, error) {
	s, err := openStore()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	id, err := s.Resolve(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var newest store.Record
	for r, err := range s.Find(ctx, id) {
		if err != nil {
			return nil, err
		}
		newest = r
	}
	return bundle.Parse(newest.Data)
}

var errNoStore = errors.New("there are no records yet")

// storeDir is where records are kept.
func storeDir(state string) string { return filepath.Join(state, "store") }
