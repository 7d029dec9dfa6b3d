package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

type style string

const (
	red   style = "31"
	green style = "32"
	amber style = "33"
	bold  style = "1"
	dim   style = "2"
)

// paint is for standard error, paintOut for standard output.
func (c *console) paint(s style, text string) string    { return painted(c.color, s, text) }
func (c *console) paintOut(s style, text string) string { return painted(c.colorOut, s, text) }

func painted(on bool, s style, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// isTerminal asks for a window size: /dev/null is a character device too, but
// it has no window.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
