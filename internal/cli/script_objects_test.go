package cli_test

import (
	"encoding/json/v2"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdMakeItems is "mkitems [-COUNT] [-write] FILE": a fleet's items, six unless
// said, and hello.wasm and spin.wasm beside it.
func cmdMakeItems(ts *testscript.TestScript, _ bool, args []string) {
	count, grants := 6, ""
	for len(args) > 1 {
		if n, err := strconv.Atoi(strings.TrimPrefix(args[0], "-")); err == nil {
			count = n
		} else {
			grants = `,"grants":{"storage":{"write":["/out/*"],"max_iops":100,"max_read_bps":1000}}`
		}
		args = args[1:]
	}
	for _, name := range []string{"hello", "spin"} {
		module, err := os.ReadFile(filepath.Join(ts.Getenv("EX"), name, name+".wasm"))
		ts.Check(err)
		write(ts, name+".wasm", module)
	}
	var lines strings.Builder
	for i := range count {
		fmt.Fprintf(&lines, `{"program":"hello.wasm","args":["%d"]%s}`+"\n", i, grants)
	}
	write(ts, args[0], []byte(lines.String()))
}

// cmdFleetKills is "fleet-kills N FILE": runs a fleet N times and kills it after a
// random moment each time, with the processes that it has begun.
func cmdFleetKills(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	killed := 0
	for range n {
		cmd := fleetCommand(ts, "-j", "3", args[1])
		ts.Check(cmd.Start())
		time.AfterFunc(20*time.Millisecond+rand.N(300*time.Millisecond), func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil && strings.Contains(err.Error(), "killed") {
			killed++
		}
	}
	ts.Logf("killed %d of %d", killed, n)
	if killed == 0 {
		ts.Fatalf("nothing was killed: that proves nothing")
	}
}

func fleetCommand(ts *testscript.TestScript, args ...string) *exec.Cmd {
	path, err := exec.LookPath("joulebox")
	ts.Check(err)
	cmd := exec.Command(path, append([]string{"fleet", "run"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	return cmd
}

// cmdFleetEffects is "fleet-effects FILE": no item whose run may have had effects
// has begun more often than once, until that is asked for.
func cmdFleetEffects(ts *testscript.TestScript, _ bool, args []string) {
	out, _ := fleetCommand(ts, "--json", args[0]).Output()
	before := fleetCounts(ts, out)
	if before.Completed+before.Broken != before.Items || before.Attempts != before.Completed {
		ts.Fatalf("got %+v, want each item completed once or broken off", before)
	}
	out, err := fleetCommand(ts, "--json", "--rerun-broken", args[0]).Output()
	ts.Check(err)
	if after := fleetCounts(ts, out); after.Completed != after.Items || after.Attempts != after.Items {
		ts.Fatalf("got %+v, want every item completed, and once", after)
	}
}

type counts struct{ Items, Completed, Broken, Attempts int }

func fleetCounts(ts *testscript.TestScript, document []byte) (c counts) {
	ts.Check(json.Unmarshal(document, &c, json.MatchCaseInsensitiveNames(true)))
	return c
}
