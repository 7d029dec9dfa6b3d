package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdTamper is "tamper FROM TO OLD NEW": a copy of a bundle with one change,
// which must be there to be made.
func cmdTamper(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[2]) {
		ts.Fatalf("%s doesn't hold %s", args[0], args[2])
	}
	write(ts, args[1], []byte(strings.Replace(text, args[2], args[3], 1)))
}

func write(ts *testscript.TestScript, name string, data []byte) {
	ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o600))
}

// cmdFlips is "flips BUNDLE": one bit is flipped in a byte here and there over the
// whole file, and verify accepts none of what comes of it.
func cmdFlips(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(strings.TrimSpace(ts.ReadFile(args[0])))
	tried := 0
	for at := 0; at < len(text); at += 97 {
		changed := bytes.Clone(text)
		changed[at] ^= 1
		name := fmt.Sprintf("flip-%d.json", at)
		write(ts, name, changed)
		if ts.Exec("joulebox", "verify", "-q", name) == nil {
			ts.Fatalf("byte %d, %q to %q: accepted", at, text[at], changed[at])
		}
		tried++
	}
	if tried < 20 {
		ts.Fatalf("%d changes tried: that proves nothing", tried)
	}
}

// cmdEquivocate is "equivocate STATE ONE TWO": runs a unit, puts the sequence
// file back as it was, in place, and runs another, so that one number is signed
// twice: what a clone of a running machine would do.
func cmdEquivocate(ts *testscript.TestScript, _ bool, args []string) {
	counter := filepath.Join(args[0], "keys", "host", "sequence")
	before, err := os.ReadFile(counter)
	ts.Check(err)
	for _, bundle := range args[1:] {
		ts.Check(ts.Exec("joulebox", "run", "-q", "--bundle", bundle, filepath.Join(ts.Getenv("EX"), "hello", "hello.wasm")))
		f, err := os.OpenFile(counter, os.O_WRONLY, 0)
		ts.Check(err)
		_, err = f.WriteAt(before, 0)
		ts.Check(err)
		ts.Check(f.Close())
	}
}

// cmdInterrupt is "interrupt SIGNAL CODE program args...": signals the program
// once it has begun, and checks that it ends soon, with the code.
func cmdInterrupt(ts *testscript.TestScript, _ bool, args []string) {
	signal := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[args[0]]
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	stdin, err := cmd.StdinPipe() // held open: a unit that reads waits
	ts.Check(err)
	defer stdin.Close()
	ts.Check(cmd.Start())
	time.Sleep(500 * time.Millisecond)
	ts.Check(cmd.Process.Signal(signal))
	begun := time.Now()
	err = cmd.Wait()
	if took := time.Since(begun); took > 5*time.Second {
		ts.Fatalf("it went on for %v", took)
	}
	if got := fmt.Sprint(err); got != "exit status "+args[1] {
		ts.Fatalf("got %s, want exit status %s", got, args[1])
	}
}
