package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// clientSetup is what to put where for one client. SHELL is the command as a shell
// takes it, COMMAND and ARGS are its parts as JSON and TOML write them.
var clientSetup = map[string]string{
	"claude-code": `# in a shell; --scope user makes it available in every project
claude mcp add joulebox -- SHELL
`,
	"cursor": `// ~/.cursor/mcp.json, or .cursor/mcp.json in a project
{
  "mcpServers": {
    "joulebox": {"command": COMMAND, "args": [ARGS]}
  }
}
`,
	"codex": `# ~/.codex/config.toml
[mcp_servers.joulebox]
command = COMMAND
args = [ARGS]
`,
	"vscode": `// .vscode/mcp.json in a project
{
  "servers": {
    "joulebox": {"type": "stdio", "command": COMMAND, "args": [ARGS]}
  }
}
`,
	".mcp.json": `{
  "mcpServers": {
    "joulebox": {"type": "stdio", "command": COMMAND, "args": [ARGS]}
  }
}
`,
}

func clientNames() []string { return slices.Sorted(maps.Keys(clientSetup)) }

func newMCPInstall(c *console) *cobra.Command {
	show, policy := false, ""
	cmd := &cobra.Command{
		Use:   "install CLIENT --print",
		Short: "show how to set a client up: " + strings.Join(clientNames(), ", "),
		Long: `Prints what to run, or what to put into which file, so that the client starts
joulebox mcp. It changes no other program's files, so --print must be said.`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: clientNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			setup, ok := clientSetup[args[0]]
			if !ok {
				return fail(exitUsage, fmt.Errorf("unknown client %q", args[0]), "one of "+strings.Join(clientNames(), ", "))
			}
			if !show {
				return fail(exitUsage, errors.New("joulebox writes no other program's files"), "--print shows what to put where")
			}
			text, err := installText(setup, policy)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			_, err = fmt.Fprint(c.out, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print it")
	cmd.Flags().StringVar(&policy, "policy", "", "have the server started with this policy `FILE`")
	return cmd
}

// installText names this very program by its full path: clients are started with
// paths of their own.
func installText(setup, policy string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	args := []string{"mcp"}
	if policy != "" {
		if policy, err = filepath.Abs(policy); err != nil {
			return "", err
		}
		args = append(args, "--policy", policy)
	}
	words, quoted := []string{shellWord(program)}, []string{}
	for _, a := range args {
		words, quoted = append(words, shellWord(a)), append(quoted, fmt.Sprintf("%q", a))
	}
	return strings.NewReplacer(
		"SHELL", strings.Join(words, " "), "COMMAND", fmt.Sprintf("%q", program), "ARGS", strings.Join(quoted, ", "),
	).Replace(setup), nil
}

// shellWord quotes what a shell would split or expand.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
