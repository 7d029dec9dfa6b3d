package cli_test

import (
	"encoding/hex"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Every script begins with empty state and cache folders; the examples are at $EX
// and the small units of testdata at $U.
func setup(env *testscript.Env) error {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	units, err := filepath.Abs("testdata/units")
	if err != nil {
		return err
	}
	env.Setenv("EX", examples)
	env.Setenv("U", units)
	env.Setenv("STATE", filepath.Join(env.WorkDir, ".state", "joulebox"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
	env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, ".data"))
	return nil
}

var commands = map[string]func(*testscript.TestScript, bool, []string){
	"exits":      cmdExits,
	"unhex":      cmdUnhex,
	"repeats":    cmdRepeats,
	"grep-id":    cmdGrepID,
	"same-id":    cmdSameID,
	"same-cost":  cmdSameCost,
	"shortest":   cmdShortest,
	"tamper":     cmdTamper,
	"flips":      cmdFlips,
	"equivocate": cmdEquivocate,
	"interrupt":  cmdInterrupt,
	"same-image": cmdSameImage,
	"damage":     cmdDamage,
	"empty":      cmdEmpty,
	"journal":    cmdJournal,
	"mode":       cmdMode,

	"mkitems": cmdMakeItems, "fleet-kills": cmdFleetKills, "fleet-effects": cmdFleetEffects,
	"same-builds": cmdSameBuilds, "same-build": cmdSameBuild, "drop-line": cmdDropLine, "envelope": cmdEnvelope,
	"build-kills": cmdBuildKills, "builds-at-once": cmdBuildsAtOnce, "run-record": cmdRunRecord,
}

// cmdGrepID is "grep-id FILE IDFILE": FILE holds the id that IDFILE is.
func cmdGrepID(ts *testscript.TestScript, neg bool, args []string) {
	id := strings.TrimSpace(ts.ReadFile(args[1]))
	if !strings.HasPrefix(id, "b3:") {
		ts.Fatalf("%s holds no id: %q", args[1], id)
	}
	if found := strings.Contains(ts.ReadFile(args[0]), id); found == neg {
		ts.Fatalf("%s in %s: got %v, want %v", id, args[0], found, !neg)
	}
}

// cmdSameID is "same-id FILE MEMBER MEMBER": two members of a record are equal.
func cmdSameID(ts *testscript.TestScript, neg bool, args []string) {
	var record map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &record))
	a, b := record[args[1]], record[args[2]]
	if a == nil || (a == b) == neg {
		ts.Fatalf("%s: %v, %s: %v", args[1], a, args[2], b)
	}
}

// cmdExits is "exits CODE program args...": exec with the exit code checked.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program args...")
	}
	want := args[0]
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		var ok bool
		if got, ok = strings.CutPrefix(err.Error(), "exit status "); !ok {
			got = err.Error()
		}
	}
	if got != want {
		ts.Fatalf("exit code: got %s, want %s\n%s", got, want, ts.ReadFile("stderr"))
	}
}

// cmdUnhex is "unhex FILE HEX": writes bytes that a script can't hold.
func cmdUnhex(ts *testscript.TestScript, _ bool, args []string) {
	b, err := hex.DecodeString(strings.Join(args[1:], ""))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

// cmdRepeats is "repeats FILE COUNT TEXT": writes TEXT over and over.
func cmdRepeats(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(args[2], n)), 0o600))
}

// cmdShortest is "shortest FILE MEMBER": sets ID to the beginning of an id.
func cmdShortest(ts *testscript.TestScript, _ bool, args []string) {
	var record map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &record))
	ts.Setenv("ID", record[args[1]].(string)[:11])
}

// cmdSameCost is "same-cost ONE TWO": two records agree on what was counted.
func cmdSameCost(ts *testscript.TestScript, _ bool, args []string) {
	var records [2]struct {
		Energy struct {
			EstimatedUJ uint64 `json:"estimated_uj"`
		} `json:"energy"`
		Usage struct {
			Instructions uint64 `json:"instructions"`
		} `json:"usage"`
	}
	for i := range records {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[i])), &records[i]))
	}
	if records[0] != records[1] || records[0].Usage.Instructions == 0 || records[0].Energy.EstimatedUJ == 0 {
		ts.Fatalf("got %+v and %+v", records[0], records[1])
	}
}
