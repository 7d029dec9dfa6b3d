package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ownCodes marks commands whose low exit codes belong to a unit.
const ownCodes = "the unit's exit codes pass through"

const about = `joulebox runs a program under explicit grants and hands back its output, what it
cost in joules, and a signed record that anyone can verify offline.

What isn't granted is denied. A run is refused rather than run with less
isolation, less metering or less proof than its grants call for.`

// commands makes each command by its name. Only what is asked for is made: a run
// shouldn't wait for the flags of all others.
var commands = []struct {
	name string
	make func(*console) *cobra.Command
}{
	{"run", newRun}, {"learn", newLearn}, {"lang", newLang}, {"explain", newExplain}, {"verify", newVerify}, {"replay", newReplay}, {"grants", newGrants}, {"receipts", newReceipts}, {"env", newEnv}, {"conformance", newConformance}, {"runs", newRuns}, {"ledger", newLedger}, {"build", newBuild}, {"evidence", newEvidence}, {"fleet", newFleet}, {"energy", newEnergy}, {"calibrate", newCalibrate}, {"profile", newProfile}, {"key", newKey}, {"mcp", newMCP},
	{"doctor", newDoctor}, {"id", newID}, {"canon", newCanon}, {"version", newVersion}, {"completion", newCompletion}, {"man", newMan},
}

// newRoot makes the command line, whole or, where the first word is a command,
// that one alone.
func newRoot(c *console, args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:           "joulebox",
		Short:         "run untrusted programs under grants, with a verifiable record",
		Long:          about,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          bareRoot,

		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	addCommands(root, c, args)
	return root
}

func addCommands(root *cobra.Command, c *console, args []string) {
	for _, k := range commands {
		if len(args) > 0 && args[0] == k.name && k.name != "completion" && k.name != "man" {
			root.AddCommand(k.make(c))
			return
		}
	}
	for _, k := range commands {
		root.AddCommand(k.make(c))
	}
}

// bareRoot is reached with no command or with one that doesn't exist.
func bareRoot(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := "joulebox help lists the commands"
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		hint = "did you mean " + either(close) + "?"
	} else if strings.HasSuffix(args[0], ".wasm") {
		hint = "joulebox run " + args[0] + " runs it"
	}
	return fail(exitUsage, fmt.Errorf("unknown command %q", args[0]), hint)
}

// flagError adds the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	missing, ok := err.(*pflag.NotExistError)
	if !ok {
		return fail(usageCode(cmd), err, helpHint(cmd))
	}
	name := missing.GetSpecifiedName()
	if close := closeFlags(cmd, name); len(close) > 0 {
		return fail(usageCode(cmd), err, "did you mean "+either(close)+"?")
	}
	return fail(usageCode(cmd), err, helpHint(cmd))
}

func closeFlags(cmd *cobra.Command, name string) (close []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if distance(f.Name, name) <= 2 || (len(name) > 2 && strings.HasPrefix(f.Name, name)) {
			close = append(close, "--"+f.Name)
		}
	})
	return close
}

func either(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// distance is the number of edits between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
