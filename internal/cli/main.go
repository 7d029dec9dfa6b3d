// Package cli is the command line: it reads flags into requests, hands them to
// the supervisor and shows what came back. Standard output belongs to the unit
// or to the one document that a command is asked for; everything else that
// joulebox says goes to standard error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/host"
)

// Main runs the command line of this process and returns its exit code.
func Main() int {
	host.RunChildIfAsked()
	ctx, stop := withSignals()
	defer stop()
	c := newConsole(os.Stdin, os.Stdout, os.Stderr)
	c.processes = adopted()
	return execute(ctx, os.Args[1:], c)
}

func execute(ctx context.Context, args []string, c *console) int {
	root := newRoot(c, args...)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	f, ok := asFailure(err)
	if !ok { // cobra's own: flags and arguments
		f = &failure{code: usageCode(cmd), err: err, hint: helpHint(cmd)}
	}
	if f.err != nil {
		c.errorf(f.err, f.hint)
	}
	return f.code
}

// usageCode is what a mistake on the command line exits with: 2, but for the
// commands whose low codes belong to the unit.
func usageCode(cmd *cobra.Command) int {
	if cmd.Annotations[ownCodes] != "" {
		return exitDecline
	}
	return exitUsage
}

func helpHint(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return "joulebox help lists the commands"
	}
	return cmd.CommandPath() + " --help shows how it is used"
}

// console is what a command may read and print to.
type console struct {
	in       io.Reader
	out, err io.Writer
	color    bool // standard error is a terminal that wants colour
	colorOut bool // standard output is one
	live     bool // standard error is a terminal, so progress may come and go

	processes *host.Processes // with one on its way; nil if none was needed so early
}

func newConsole(in, out, err *os.File) *console {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	live := isTerminal(err)
	return &console{in: in, out: out, err: err, live: live, color: live && !plain, colorOut: !plain && isTerminal(out)}
}

// errorf prints one error, and its hint on a line of its own.
func (c *console) errorf(err error, hint string) {
	fmt.Fprintf(c.err, "%s %v\n", c.paint(red, "joulebox:"), err)
	if hint != "" {
		fmt.Fprintf(c.err, "%s %s\n", c.paint(dim, "hint:"), hint)
	}
}

// note prints one line of our own that is not an error.
func (c *console) note(format string, args ...any) {
	fmt.Fprintf(c.err, "%s %s\n", c.paint(dim, "joulebox:"), fmt.Sprintf(format, args...))
}

var errNoProgram = errors.New("no program given")
