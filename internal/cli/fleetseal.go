package cli

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/fleet"
)

func newFleetSeal(c *console) *cobra.Command {
	leaves := ""
	cmd := &cobra.Command{
		Use:   "seal FILE...",
		Short: "make and sign the record of runs that there are",
		Long: `Prints the signed record over runs, in the order given. A FILE is a list of leaves,
NAME.jsonl with one {"attestation", "item"} a line, or a bundle; a bundle's item is
its unit id. A bundle that doesn't verify is refused.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error { return c.fleetSeal(files, leaves) },
	}
	cmd.Flags().StringVar(&leaves, "leaves", "", "write the list of leaves, which prove and verify take, to `FILE`")
	return cmd
}

func (c *console) fleetSeal(files []string, list string) error {
	tree := fleet.NewBuilder()
	gather := func(w io.Writer) error {
		for _, file := range files {
			if err := gatherLeaves(file, tree, w); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return nil
	}
	err := gatherTo(list, gather)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	record, err := tree.Record()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	key, err := c.openKey()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	defer key.Close()
	signed, err := fleet.Sign(key, record)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	text, err := signed.Canonical()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	_, err = fmt.Fprintf(c.out, "%s\n", text)
	return err
}

// gatherTo hands out the file that the list goes to, or none.
func gatherTo(list string, gather func(io.Writer) error) error {
	if list == "" {
		return gather(io.Discard)
	}
	return writeFile(list, func(f *os.File) error {
		w := bufio.NewWriter(f)
		if err := gather(w); err != nil {
			return err
		}
		return w.Flush()
	})
}

// gatherLeaves adds a file's leaves to the fleet and to its list.
func gatherLeaves(file string, tree *fleet.Builder, list io.Writer) error {
	for l, err := range fileLeaves(file) {
		if err == nil {
			err = tree.Append(l)
		}
		if err == nil {
			_, err = list.Write(l.AppendLine(nil))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fileLeaves are the leaves of a list, or the one of a bundle.
func fileLeaves(file string) iter.Seq2[fleet.Leaf, error] {
	return func(yield func(fleet.Leaf, error) bool) {
		if !strings.HasSuffix(file, ".jsonl") {
			yield(bundleLeaf(file))
			return
		}
		f, err := os.Open(file)
		if err != nil {
			yield(fleet.Leaf{}, err)
			return
		}
		defer f.Close()
		for l, err := range fleet.Leaves(f) {
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// bundleLeaf is the leaf of a bundle that verifies.
func bundleLeaf(file string) (fleet.Leaf, error) {
	b, err := readBundle(file)
	if err != nil {
		return fleet.Leaf{}, err
	}
	if report := b.Verify(bundle.Options{Challenge: b.Unit().Challenge}); report.Verdict == bundle.Invalid {
		return fleet.Leaf{}, fmt.Errorf("the bundle doesn't verify: %s", names(report.Failures()))
	}
	return fleet.Leaf{Item: b.UnitID(), Attestation: b.Statement().ID()}, nil
}
