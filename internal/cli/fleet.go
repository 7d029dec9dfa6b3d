package cli

import (
	"github.com/spf13/cobra"
)

func newFleet(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "run many units, and prove that a run is one of them",
		Long: `A fleet is one intent that fans out over many units. Its record commits to all of
their attestations with one root: sign it once and the whole is sealed, and any one
run is provably of it without the others.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newFleetRun(c), newFleetSeal(c), newFleetProve(c), newFleetVerify(c))
	return cmd
}
