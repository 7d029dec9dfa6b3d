package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/fleet"
)

func newFleetProve(c *console) *cobra.Command {
	var record, leaves string
	cmd := &cobra.Command{
		Use:   "prove [DIR] WHICH",
		Short: "prove that one run is of a fleet",
		Long: `Prints all that someone needs to see that a run is of a fleet: the leaf, its way up
to the root, and the signed record. WHICH is the beginning of an item's or an
attestation's id, or a leaf's number, counted from 0. DIR is the folder of a fleet run;
without one, --record and --leaves name the files.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				record, leaves = filepath.Join(args[0], recordFile), filepath.Join(args[0], leavesFile)
			}
			if record == "" || leaves == "" {
				return fail(exitUsage, errors.New("want the folder of a fleet run, or --record and --leaves"), "joulebox fleet prove --help shows how it is used")
			}
			return c.fleetProve(record, leaves, args[len(args)-1])
		},
	}
	cmd.Flags().StringVar(&record, "record", "", "read the signed record from `FILE`")
	cmd.Flags().StringVar(&leaves, "leaves", "", "read the list of leaves from `FILE`")
	return cmd
}

func (c *console) fleetProve(recordPath, leavesPath, which string) error {
	src, err := os.ReadFile(recordPath)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	signed, err := fleet.ParseSigned(src)
	if err != nil {
		return fail(exitFailed, fmt.Errorf("%s: %w", recordPath, err), "")
	}
	tree, found, err := findLeaf(leavesPath, which)
	if err != nil {
		return fail(exitFailed, fmt.Errorf("%s: %w", leavesPath, err), "")
	}
	proof, err := tree.Prove(found.index, tree.Count())
	if err != nil {
		return fail(exitFailed, err, "")
	}
	m := fleet.Membership{Leaf: found.leaf, Proof: proof, Fleet: signed}
	// A list that isn't the record's would prove nothing.
	if err := m.Proof.Verify(m.Leaf, signed.Record); err != nil {
		return fail(exitFailed, err, "the list of leaves isn't the one that was sealed")
	}
	text, err := m.Canonical()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	_, err = fmt.Fprintf(c.out, "%s\n", text)
	return err
}

// leafAt is a leaf and its place.
type leafAt struct {
	leaf  fleet.Leaf
	index uint64
}

// findLeaf reads the list into a tree and finds the one leaf that is meant.
func findLeaf(path, which string) (*fleet.Tree, leafAt, error) {
	tree := fleet.NewTree()
	var found []leafAt
	for l, err := range fileLeaves(path) {
		if err == nil {
			err = tree.Append(l)
		}
		if err != nil {
			return nil, leafAt{}, err
		}
		if at := tree.Count() - 1; means(which, l, at) {
			found = append(found, leafAt{l, at})
		}
	}
	switch {
	case len(found) == 0:
		return nil, leafAt{}, fmt.Errorf("no leaf is %q, of %d", which, tree.Count())
	case len(found) > 1:
		return nil, leafAt{}, fmt.Errorf("%q is %d leaves, numbers %d and %d among them: give more characters, or a number", which, len(found), found[0].index, found[1].index)
	}
	return tree, found[0], nil
}

func means(which string, l fleet.Leaf, index uint64) bool {
	if n, err := strconv.ParseUint(which, 10, 64); err == nil {
		return n == index
	}
	which = "b3:" + strings.TrimPrefix(which, "b3:")
	return len(which) > len("b3:") && (strings.HasPrefix(l.Item.String(), which) || strings.HasPrefix(l.Attestation.String(), which))
}
