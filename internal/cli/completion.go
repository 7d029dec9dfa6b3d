package cli

import (
	"github.com/spf13/cobra"
)

func newCompletion(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "print a completion script for a shell",
		Long: `Prints a completion script. To load it:

  bash   joulebox completion bash > ~/.local/share/bash-completion/completions/joulebox
  zsh    joulebox completion zsh > "${fpath[1]}/_joulebox"
  fish   joulebox completion fish > ~/.config/fish/completions/joulebox.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(c.out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(c.out)
			}
			return cmd.Root().GenFishCompletion(c.out, true)
		},
	}
}
