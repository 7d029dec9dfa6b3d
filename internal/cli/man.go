package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan(c *console) *cobra.Command {
	return &cobra.Command{
		Use:    "man",
		Short:  "print the manual page",
		Long:   "Prints the manual page, made from the same words as --help:\n\n  joulebox man > ~/.local/share/man/man1/joulebox.1",
		Args:   cobra.NoArgs,
		Hidden: false,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeManual(c.out, cmd.Root())
		},
	}
}

// writeManual writes one page for the whole tool, in man(7) macros.
func writeManual(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	b.WriteString(".TH JOULEBOX 1\n.SH NAME\njoulebox \\- " + roff(root.Short) + "\n")
	b.WriteString(".SH SYNOPSIS\n.B joulebox run\n[flags] prog.wasm [args...]\n.br\n.B joulebox\ncommand [flags] [args...]\n")
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(root.Long) + ".SH COMMANDS\n")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			manualCommand(&b, cmd)
		}
	}
	b.WriteString(".SH EXIT STATUS\n" + paragraphs(exitHelp))
	b.WriteString(".SH FILES\n" + paragraphs(filesHelp))
	_, err := io.WriteString(w, b.String())
	return err
}

func manualCommand(b *strings.Builder, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag() // or the usage line would differ by whether the command ran
	fmt.Fprintf(b, ".SS %s\n", roff(cmd.UseLine()))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(paragraphs(text))
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B \\-\\-%s\n", roff(flagHead(f, kind)))
		b.WriteString(roff(usage) + "\n")
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			manualCommand(b, sub)
		}
	}
}

func flagHead(f *pflag.Flag, kind string) string {
	switch {
	case kind == "" || kind == "bool":
		return f.Name
	case f.NoOptDefVal != "":
		return f.Name + "[=" + kind + "]"
	}
	return f.Name + " " + kind
}

// paragraphs keeps indented blocks as they are and fills the rest.
func paragraphs(text string) string {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(block, " ") {
			b.WriteString(".PP\n.nf\n" + roff(block) + "\n.fi\n")
			continue
		}
		b.WriteString(".PP\n" + roff(block) + "\n")
	}
	return b.String()
}

// roff escapes what the formatter would take for its own: a leading dot or
// quote, the backslash, and the hyphen that must stay a hyphen when copied.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
