package cli_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/runrecord"
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
	return jouleboxCommand(ts, append([]string{"fleet", "run"}, args...)...)
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

// cmdSameBuilds is "same-builds FILE": every build of a list has one id.
func cmdSameBuilds(ts *testscript.TestScript, _ bool, args []string) {
	var list []struct {
		BuildID string `json:"build_id"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &list))
	for _, b := range list {
		if b.BuildID == "" || b.BuildID != list[0].BuildID {
			ts.Fatalf("got %v, want one id", list)
		}
	}
	if len(list) < 2 {
		ts.Fatalf("got %d builds: that proves nothing", len(list))
	}
}

// cmdSameBuild is "same-build ONE TWO": two documents are of builds of one id.
func cmdSameBuild(ts *testscript.TestScript, neg bool, args []string) {
	var ids [2]struct {
		BuildID string `json:"build_id"`
	}
	for i := range ids {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[i])), &ids[i]))
	}
	if ids[0].BuildID == "" || (ids[0] == ids[1]) == neg {
		ts.Fatalf("got %v", ids)
	}
}

// cmdDropLine is "drop-line FROM N TO": a copy without line N, counted from 0.
func cmdDropLine(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	lines := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	write(ts, args[2], []byte(strings.Join(append(lines[:n:n], lines[n+1:]...), "")))
}

// cmdEnvelope is "envelope FILE OUTPUT": reads a DSSE envelope with nothing of the
// code that made it, under this host's key, and holds its subject to the output.
func cmdEnvelope(ts *testscript.TestScript, _ bool, args []string) {
	var e struct {
		Payload, PayloadType string
		Signatures           []struct{ Sig string }
	}
	lax := json.MatchCaseInsensitiveNames(true)
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &e, lax))
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	ts.Check(err)
	signature, err := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	ts.Check(err)
	message := fmt.Sprintf("DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(payload), payload)
	ts.Check(ts.Exec("joulebox", "key", "show"))
	public, err := hex.DecodeString(strings.Fields(ts.ReadFile("stdout"))[0])
	ts.Check(err)
	if !ed25519.Verify(public, []byte(message), signature) {
		ts.Fatalf("the signature doesn't hold")
	}
	var s struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct{ Digest map[string]string }
		Predicate     struct {
			BuildDefinition struct {
				BuildType            string `json:"buildType"`
				ResolvedDependencies []any  `json:"resolvedDependencies"`
			} `json:"buildDefinition"`
			RunDetails struct {
				Builder struct{ ID string }
			} `json:"runDetails"`
		}
	}
	ts.Check(json.Unmarshal(payload, &s, lax))
	sum := sha256.Sum256([]byte(ts.ReadFile(args[1])))
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" || s.Subject[0].Digest["sha256"] != hex.EncodeToString(sum[:]) ||
		len(s.Subject[0].Digest["blake3"]) != 64 || s.Predicate.BuildDefinition.BuildType == "" || s.Predicate.RunDetails.Builder.ID == "" || len(s.Predicate.BuildDefinition.ResolvedDependencies) != 2 {
		ts.Fatalf("got %s", payload)
	}
}

func jouleboxCommand(ts *testscript.TestScript, args ...string) *exec.Cmd {
	path, err := exec.LookPath("joulebox")
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	return cmd
}

// ledgerLength is how many builds the ledger lists.
func ledgerLength(ts *testscript.TestScript) int {
	out, err := jouleboxCommand(ts, "ledger", "list", "-n", "0").Output()
	ts.Check(err)
	return strings.Count(string(out), "\n")
}

// cmdBuildKills is "build-kills N FILE": begins a build N times and kills it after a
// random moment. A build that ended by itself is in the ledger.
func cmdBuildKills(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	before, ended, killed := ledgerLength(ts), 0, 0
	for range n {
		cmd := jouleboxCommand(ts, "build", args[1])
		ts.Check(cmd.Start())
		time.AfterFunc(rand.N(80*time.Millisecond), func() { _ = cmd.Process.Kill() })
		if cmd.Wait() == nil {
			ended++
		} else {
			killed++
		}
	}
	ts.Logf("%d ended, %d were killed", ended, killed)
	if after := ledgerLength(ts); killed == 0 || after < before+ended || after > before+n {
		ts.Fatalf("%d builds before, %d after, %d ended, %d were killed", before, after, ended, killed)
	}
}

// cmdBuildsAtOnce is "builds-at-once N FILE": N builds in as many processes.
func cmdBuildsAtOnce(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	before := ledgerLength(ts)
	var running []*exec.Cmd
	for range n {
		cmd := jouleboxCommand(ts, "build", args[1])
		ts.Check(cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		ts.Check(cmd.Wait())
	}
	if after := ledgerLength(ts); after != before+n {
		ts.Fatalf("%d builds before and %d after %d", before, after, n)
	}
}

// cmdRunRecord is "run-record FILE": the record of a run that was suspended once,
// signed by this host, and beside it: short.jsonl, which ends before that; kept.json,
// its last head; spliced.jsonl, of another unit; twin.jsonl, a copy that went on too;
// clone.jsonl, which says that it is one.
func cmdRunRecord(ts *testscript.TestScript, _ bool, args []string) {
	// The host's own key: the command finds it where this puts it.
	ts.Check(ts.Exec("joulebox", "key", "new"))
	key, _, err := custody.Ensure("file:"+filepath.Join(ts.Getenv("STATE"), "keys", "host"), false)
	ts.Check(err)
	defer key.Close()
	id := func(text string) joulebox.ID { return joulebox.Sum([]byte(text)) }
	parked := runrecord.Snapshot{FS: id("fs"), Memory: id("memory"), Manifest: id("manifest")}
	ran := func(text string) runrecord.Segment {
		return runrecord.Segment{Kind: runrecord.Executed, Attestation: id(text)}
	}
	begin := func() (*runrecord.Record, *recordFile) {
		r, err := runrecord.New(id("unit"), id("grants"), runrecord.RunID{1})
		ts.Check(err)
		f := &recordFile{ts: ts, record: r, key: key}
		f.begin()
		f.add(ran("one"))
		f.add(runrecord.Segment{Kind: runrecord.Suspended, Snapshot: parked})
		f.sign()
		return r, f
	}
	origin, short := begin()
	write(ts, "short.jsonl", short.text.Bytes())
	_, whole := begin()
	whole.add(runrecord.Segment{Kind: runrecord.Resumed, Snapshot: parked, Idle: 7})
	whole.add(ran("two"))
	head := whole.sign()
	write(ts, args[0], whole.text.Bytes())
	write(ts, "kept.json", head)
	write(ts, "spliced.jsonl", bytes.Replace(whole.text.Bytes(), []byte(id("unit").String()), []byte(id("other").String()), 1))
	_, twin := begin()
	twin.add(runrecord.Segment{Kind: runrecord.Resumed, Snapshot: parked, Idle: 9})
	twin.sign()
	write(ts, "twin.jsonl", twin.text.Bytes())
	clone, err := runrecord.Clone(origin, runrecord.RunID{2})
	ts.Check(err)
	beside := &recordFile{ts: ts, record: clone, key: key}
	beside.begin()
	beside.sign()
	write(ts, "clone.jsonl", beside.text.Bytes())
}

// recordFile writes a run record as it grows.
type recordFile struct {
	ts     *testscript.TestScript
	record *runrecord.Record
	key    *custody.Key
	text   bytes.Buffer
}

func (f *recordFile) line(text []byte, err error) []byte {
	f.ts.Check(err)
	fmt.Fprintf(&f.text, "%s\n", text)
	return text
}

func (f *recordFile) begin() {
	f.line(f.record.Header())
	f.line(f.record.Segments()[0].Canonical())
}

func (f *recordFile) add(s runrecord.Segment) {
	f.ts.Check(f.record.Append(s))
	f.line(s.Canonical())
}

func (f *recordFile) sign() []byte { return f.line(f.record.SignHead(f.key)) }
