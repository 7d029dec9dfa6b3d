package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/internal/wat"
)

// adversary is one unit that means harm, in WebAssembly text, and the one ending that
// it may have. Nothing else is an ending: no error, no crash, no hang.
type adversary struct {
	name   string
	text   string
	change func(*Limits)
	config BrokerConfig

	outcome joulebox.Outcome
	cause   string // of a unit that Failed by no code of its own
	code    uint32 // of a unit that ended by itself
	detail  string // in the words about it
	check   func(t *testing.T, r *trial)
}

const wasiImports = `
(import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
(import "sandbox" "log" (func $log (param i32 i32 i32) (result i32)))
(memory (export "memory") 1)
`

func fewUnits(l *Limits)   { l.Units = 2_000_000 }
func littleTime(l *Limits) { l.Wall = 200 * time.Millisecond }

var (
	outOfEnergy = joulebox.Terminated(joulebox.BreachEnergy)
	outOfTime   = joulebox.Terminated(joulebox.BreachTime)
	outOfMemory = joulebox.Terminated(joulebox.BreachMemory)
)

func adversaries() []adversary {
	return append(append(exhausters(), flooders()...), liars()...)
}

// exhausters use up what there is.
func exhausters() []adversary {
	return []adversary{
		{name: "endless loop", text: `(func (export "run") (result i32) (loop (br 0)) (i32.const 0))`, change: fewUnits, outcome: outOfEnergy},
		{name: "endless loop within its energy", text: `(func (export "run") (result i32) (loop (br 0)) (i32.const 0))`, change: littleTime, outcome: outOfTime},
		{name: "start function that loops", text: `(func $s (loop (br 0))) (start $s) (func (export "run") (result i32) (i32.const 0))`, change: fewUnits, outcome: outOfEnergy},
		{name: "start function that loops on", text: `(func $s (loop (br 0))) (start $s) (func (export "run") (result i32) (i32.const 0))`, change: littleTime, outcome: outOfTime},
		{name: "start function that traps", text: `(func $s unreachable) (start $s) (func (export "run") (result i32) (i32.const 0))`, outcome: joulebox.Failed, cause: CauseTrap, detail: "unreachable"},
		{name: "stack by itself", text: `(func $f (export "run") (result i32) (i32.add (call $f) (i32.const 1)))`, outcome: joulebox.Failed, cause: CauseTrap, detail: "stack"},
		{name: "stack with wide frames", text: `(func $f (param i64 i64 i64 i64) (result i64) (local i64 i64 i64 i64 i64 i64 i64 i64)
			(i64.add (call $f (local.get 1) (local.get 2) (local.get 3) (local.get 0)) (local.get 5)))
			(func (export "run") (result i32) (i32.wrap_i64 (call $f (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4))))`,
			outcome: joulebox.Failed, cause: CauseTrap, detail: "stack"},
		{name: "stack through a table", text: `(type $t (func (result i32))) (table 2 2 funcref) (elem (i32.const 0) $a $b)
			(func $a (type $t) (i32.add (call_indirect (type $t) (i32.const 1)) (i32.const 1)))
			(func $b (type $t) (i32.add (call_indirect (type $t) (i32.const 0)) (i32.const 1)))
			(func (export "run") (result i32) (call $a))`, outcome: joulebox.Failed, cause: CauseTrap, detail: "stack"},
		{name: "memory page by page", text: `(memory 1) (func (export "run") (result i32) (loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (i32.const 0))`,
			change: func(l *Limits) { l.Memory = 4 << 20 }, outcome: outOfMemory},
		{name: "memory at once", text: `(memory 1) (func (export "run") (result i32) (memory.grow (i32.const 65535)))`,
			change: func(l *Limits) { l.Memory = 4 << 20 }, outcome: outOfMemory},
		{name: "table entry by entry", text: `(table 1 funcref) (func (export "run") (result i32) (loop (br_if 0 (i32.ne (table.grow 0 (ref.null func) (i32.const 1000)) (i32.const -1)))) (i32.const 0))`,
			change: func(l *Limits) { l.Memory = 1 << 20 }, outcome: outOfMemory},
		{name: "filling memory over and over", text: `(memory 16) (func (export "run") (result i32) (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 1048576)) (br 0)) (i32.const 0))`, change: fewUnits, outcome: outOfEnergy},
		{name: "copying tables over and over", text: `(table 50000 funcref) (func (export "run") (result i32) (loop (table.copy (i32.const 0) (i32.const 1) (i32.const 49999)) (br 0)) (i32.const 0))`, change: fewUnits, outcome: outOfEnergy},
	}
}

// flooders call the host without end, or say without end.
func flooders() []adversary {
	forever := func(body string) string {
		return wasiImports + `(func (export "run") (result i32) (loop ` + body + ` (br 0)) (i32.const 0))`
	}
	iovec := `(data (i32.const 0) "\10\00\00\00\40\00\00\00" "\10\00\00\00\40\00\00\00")`
	return []adversary{
		{name: "clocks", text: forever(`(drop (call $clock (i32.const 1) (i64.const 0) (i32.const 64)))`), change: fewUnits, outcome: outOfEnergy},
		{name: "waiting for an ungranted clock", text: wasiImports + `(func (export "run") (result i32)
			(loop (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 64)))
				(br_if 0 (i64.lt_u (i64.load (i32.const 64)) (i64.const 9000000000000)))) (i32.const 0))`,
			change: fewUnits, config: BrokerConfig{Grants: timeless()}, outcome: outOfEnergy},
		{name: "spinning on a granted clock", text: wasiImports + `(func (export "run") (result i32)
			(loop (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 64)))
				(br_if 0 (i64.lt_u (i64.load (i32.const 64)) (i64.const 9000000000000)))) (i32.const 0))`,
			change: littleTime, outcome: outOfTime},
		{name: "sleeping for good", text: wasiImports + `(data (i32.const 16) "\00\00\00\00\01\00\00\00" "\00\00\c1\6f\f2\86\23\00")
			(func (export "run") (result i32) (call $poll (i32.const 0) (i32.const 128) (i32.const 1) (i32.const 64)))`,
			change: littleTime, outcome: outOfTime},
		{name: "randomness", text: forever(`(drop (call $random (i32.const 0) (i32.const 65536)))`), change: fewUnits, outcome: outOfEnergy},
		{name: "output", text: forever(`(drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 2) (i32.const 64)))`) + iovec, change: fewUnits, outcome: outOfEnergy,
			check: func(t *testing.T, r *trial) {
				if r.stdout.Len() == 0 || r.stdout.Len()%128 != 0 {
					t.Errorf("got %d bytes of output, want what was written up to the end", r.stdout.Len())
				}
			}},
		{name: "output that nobody reads", text: forever(`(drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 2) (i32.const 64)))`) + iovec,
			change: littleTime, config: BrokerConfig{Stdout: unread{}}, outcome: outOfTime},
		{name: "log", text: forever(`(drop (call $log (i32.const 1) (i32.const 0) (i32.const 64)))`), change: func(l *Limits) { l.Units = 20_000_000 }, outcome: outOfEnergy,
			check: func(t *testing.T, r *trial) {
				if r.log.Len() > logBytes || r.usage.LogDropped == 0 || !strings.Contains(r.log.String(), " lines dropped]\n") {
					t.Errorf("got %d bytes of log and %d lines dropped, want it cut and said", r.log.Len(), r.usage.LogDropped)
				}
			}},
	}
}

// liars give the host numbers that are none of theirs.
func liars() []adversary {
	once := func(call string) string {
		return wasiImports + `(func (export "run") (result i32) ` + call + `)`
	}
	const fault, badf, inval = 21, 8, 28
	return []adversary{
		{name: "vectors that wrap", text: once(`(call $fd_write (i32.const 1) (i32.const 65532) (i32.const 536870912) (i32.const 64))`), outcome: joulebox.Failed, code: inval},
		{name: "lengths that wrap", text: once(`(call $fd_write (i32.const 1) (i32.const 0) (i32.const 2) (i32.const 64))`) + `(data (i32.const 0) "\10\00\00\00\ff\ff\ff\ff" "\10\00\00\00\ff\ff\ff\ff")`, outcome: joulebox.Failed, code: fault},
		{name: "more randomness than memory", text: once(`(call $random (i32.const 0) (i32.const -1))`), outcome: joulebox.Failed, code: fault},
		{name: "a result beyond memory", text: once(`(call $clock (i32.const 1) (i64.const 0) (i32.const -4))`), outcome: joulebox.Failed, code: fault},
		{name: "a huge descriptor", text: once(`(call $renumber (i32.const 1) (i32.const 2147483647))`), outcome: joulebox.Failed, code: badf},
		{name: "leaving before it began", text: wasiImports + `(func $s (call $exit (i32.const 7))) (start $s) (func (export "run") (result i32) (i32.const 0))`, outcome: joulebox.Failed, code: 7},
	}
}

func timeless() grant.Set {
	s := everything()
	s.Host.Clock = false
	return s
}

// unread is a reader's end that nobody reads.
type unread struct{}

func (unread) Write([]byte) (int, error) { select {} }

// TestAdversaries runs each of them in both places. The same one has the same ending
// in both.
func TestAdversaries(t *testing.T) {
	places := []struct {
		name string
		x    Executor
	}{{"in-process", S2(testEngine())}, {"jailed", newProcesses(t, 0).Jailed(S2(testEngine()))}}
	for _, a := range adversaries() {
		image, err := wat.Assemble([]byte(a.text))
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		for _, p := range places {
			t.Run(a.name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				config := a.config
				r := (&trial{image: image, config: config, change: a.change}).on(t, t.Context(), p.x)
				a.judge(t, r)
			})
		}
	}
}

func (a *adversary) judge(t *testing.T, r *trial) {
	t.Helper()
	if r.err != nil {
		t.Fatalf("got error %v, want the outcome %s", r.err, a.outcome)
	}
	if r.exit.Outcome != a.outcome || r.exit.Cause != a.cause || !strings.Contains(r.exit.Detail, a.detail) {
		t.Errorf("got %s, %q, %q, want %s, %q, %q", r.exit.Outcome, r.exit.Cause, r.exit.Detail, a.outcome, a.cause, a.detail)
	}
	got := uint32(0)
	if r.exit.Code != nil {
		got = *r.exit.Code
	}
	if got != a.code || (r.exit.Code != nil) != (a.code != 0) {
		t.Errorf("got exit code %d (one at all: %t), want %d", got, r.exit.Code != nil, a.code)
	}
	if a.check != nil {
		a.check(t, r)
	}
}

// TestBombs: modules that are small to send and large to have are refused before
// anything of them runs, each for its kind of reason, and quickly enough to be
// refused all day.
func TestBombs(t *testing.T) {
	engine, err := NewEngine(EngineConfig{}) // which compiles in a bounded child
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for name, b := range map[string]struct {
		text, why string
	}{
		"a memory of 4 GiB":     {`(memory 65536)`, string(wasm.RefusedMemory)},
		"a table of a billion":  {`(table 1000000000 funcref)`, string(wasm.RefusedLimit)},
		"tables over the cap":   {`(table 900000 funcref)`, string(wasm.RefusedMemory)},
		"nesting":               {`(func (export "f") ` + strings.Repeat("(block ", 1900) + strings.Repeat(")", 1900) + `)` + manyBlocks(40_000), string(wasm.RefusedLimit)},
		"locals":                {`(func (export "f") (local ` + strings.Repeat("i64 ", 70_000) + `))`, string(wasm.RefusedLimit)},
		"parameters":            {`(func (export "f") (param ` + strings.Repeat("i64 ", 1100) + `))`, string(wasm.RefusedLimit)},
		"a data segment beyond": {`(memory 1) (data (i32.const 65535) "ab")`, ""}, // it traps where it would be instantiated
	} {
		t.Run(name, func(t *testing.T) {
			image, err := wat.Assemble([]byte(b.text + ` (func (export "run") (result i32) (i32.const 0))`))
			if err != nil {
				t.Fatal(err)
			}
			r := (&trial{image: image, change: func(l *Limits) { l.Memory = 1 << 20 }}).on(t, t.Context(), S2(engine))
			if b.why == "" {
				if r.err != nil || r.exit.Cause != CauseTrap {
					t.Errorf("got %v, %+v, want a trap", r.err, r.exit)
				}
				return
			}
			var refused *RefusedError
			if !errors.As(r.err, &refused) || !strings.Contains(r.err.Error(), b.why) {
				t.Errorf("got %v, %+v, want it refused: %s", r.err, r.exit, b.why)
			}
		})
	}
}

// manyBlocks is a function of nothing but blocks in each other.
func manyBlocks(n int) string {
	return fmt.Sprintf(`(func (export "g") %s %s)`, strings.Repeat("block ", n), strings.Repeat("end ", n))
}

// TestAdversariesLeaveNothing: whatever they did, no file is open and no process is
// there that wasn't before.
func TestAdversariesLeaveNothing(t *testing.T) {
	processes := newProcesses(t, 0)
	x := processes.Jailed(S2(testEngine()))
	run := func() {
		for _, a := range adversaries() {
			if a.config.Stdout != nil {
				continue // its writer is left behind for good, which is what it is for
			}
			image, err := wat.Assemble([]byte(a.text))
			if err != nil {
				t.Fatal(err)
			}
			(&trial{image: image, config: a.config, change: a.change}).on(t, t.Context(), x)
		}
	}
	run()
	before := openNow(t)
	run()
	deadline := time.Now().Add(20 * time.Second)
	for openNow(t) > before && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if after := openNow(t); after > before {
		t.Errorf("got %d open files after a second round, want the %d of the first", after, before)
	}
}

func openNow(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
