//go:build amd64 || arm64

package cell

import (
	"bufio"
	"strings"
	"testing"
)

// terminal starts a unit with a terminal, whose lines can be read.
func terminal(t *testing.T, script string) (*Cell, func(want string)) {
	t.Helper()
	s := shell(script)
	s.Terminal = &Size{Rows: 24, Cols: 80}
	s.Env = append(s.Env, "TERM=xterm")
	c, _ := start(t, s)
	lines := bufio.NewScanner(c.Terminal())
	t.Cleanup(func() { c.Terminal().Close() })
	return c, func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Errorf("%q didn't come: %v", want, lines.Err())
	}
}

func TestTerminal(t *testing.T) {
	c, until := terminal(t, "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo three; tty; stty size; trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.02; done")
	until("three")
	until("/dev/pts/0")
	until("24 80")
	until("ready")
	if err := c.Resize(Size{Rows: 30, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	until("30 100")
	end, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	exits(t, end, "", 5)
}

func TestControlC(t *testing.T) {
	c, until := terminal(t, "echo ready; exec sleep 1000")
	until("ready")
	// The shell may still be on its way to the program; both end by it.
	if _, err := c.Terminal().Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	end, err := c.Wait()
	if err != nil || end.Code != nil || end.Signal != 2 {
		t.Errorf("got %s, %v", shown(end), err)
	}
}

func TestNoTerminal(t *testing.T) {
	end, out := run(t, shell("[ -t 0 ] && echo yes; (: < /dev/tty) 2>/dev/null && echo tty; exit 0"))
	exits(t, end, out, 0)
	if out != "" {
		t.Errorf("got %q", out)
	}
}
