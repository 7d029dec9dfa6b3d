package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/grant"
)

func newGrants(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "check grant files",
		Args:  cobra.ArbitraryArgs,
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(newGrantsCheck(c))
	return cmd
}

// needsSubcommand shows help, or says which word isn't one.
func needsSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := cmd.CommandPath() + " --help lists them"
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		hint = "did you mean " + either(close) + "?"
	}
	return fail(exitUsage, fmt.Errorf("unknown command %q for %s", args[0], cmd.CommandPath()), hint)
}

func newGrantsCheck(c *console) *cobra.Command {
	var signed, canonical, asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "check a grant file and print its grants id",
		Long: `Reads grants as people write them, in JSON or YAML: what is left out is denied,
and budgets that are left out take this host's defaults. Prints the grants id, or
everything that is wrong, by field. "-" is standard input.

With --signed it reads grants as a descriptor holds them: all members, canonical
order, nothing repaired.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			src, err := c.readFile(args[0])
			if err != nil {
				return fail(exitUsage, err, "")
			}
			set, err := parseGrants(src, signed)
			if err != nil {
				return fail(exitFailed, err, "")
			}
			e, err := explain(set, (&grantFlags{}).placement(), false)
			switch {
			case err != nil:
				return fail(exitFailed, err, "")
			case asJSON:
				return c.document(e)
			case canonical:
				_, err = c.out.Write(e.Grants)
			default:
				_, err = fmt.Fprintln(c.out, e.GrantsID)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&signed, "signed", false, "read the signed form and nothing else")
	cmd.Flags().BoolVar(&canonical, "canonical", false, "print the canonical JSON that the grants id is taken over")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func parseGrants(src []byte, signed bool) (grant.Set, error) {
	if signed {
		return grant.Parse(src)
	}
	return grant.ParseHuman(src, defaultBudgets)
}

func (c *console) readFile(name string) ([]byte, error) {
	if name == "-" {
		return readLimited(c.in, canonLimit)
	}
	return os.ReadFile(name)
}
