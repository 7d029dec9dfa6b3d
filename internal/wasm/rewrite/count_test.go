package rewrite

import (
	"errors"
	"fmt"
	"testing"
)

// TestCountsByHand holds both ways against counts that were made with a pencil.
func TestCountsByHand(t *testing.T) {
	cases := []struct {
		guest, fn string
		args      []uint64
		want      int64
	}{
		{"bulk", "fill", []uint64{100}, 4 + 100},
		{"bulk", "fill", []uint64{0}, 4},
		{"bulk", "copy", []uint64{1000}, 4 + 1000},
		{"bulk", "init", []uint64{10}, 4 + 10},
		{"bulk", "tfill", []uint64{4}, 4 + 4*8},
		{"bulk", "tcopy", []uint64{2}, 4 + 2*8},
		{"bulk", "tinit", []uint64{3}, 4 + 3*8},
		{"bulk", "grow", []uint64{2}, 2 + 2*65536},
		{"bulk", "grow", []uint64{9}, 2}, // past the module's own maximum
		{"bulk", "tgrow", []uint64{3}, 3 + 3*8},
		{"bulk", "tgrow", []uint64{5}, 3},
		{"start", "get", nil, 1},
		{"host", "straight", nil, 3},
		{"host", "calls", []uint64{3}, 3*10 + 1},
		{"host", "indirect", []uint64{21, 1}, 3 + 3}, // the guest's own function
		{"host", "indirect", []uint64{21, 0}, 3},     // the host's
		{"host", "exits", []uint64{0}, 2 + 4 + 1},
		{"recur", "chain", []uint64{0}, 2 + 1},
		{"recur", "chain", []uint64{5}, 2 + 2 + (5 + 3 + 3)},
		{"recur", "self", []uint64{0}, 2 + 1},
		{"recur", "self", []uint64{10}, 10*(2+6) + 3},
	}
	for _, way := range bothWays {
		for _, c := range cases {
			in := launch(t, c.guest, way)
			in.empty()
			in.m.drawn = 0
			r := in.call(c.fn, c.args...)
			if r.err != nil || r.used != c.want {
				t.Errorf("%s: %s.%s%v: got %d units and %v, want %d", wayNames[way], c.guest, c.fn, c.args, r.used, r.err, c.want)
			}
		}
	}
}

// TestStartCounts: 1000 rounds of nine, what comes after, and the look of a host.
func TestStartCounts(t *testing.T) {
	for _, way := range bothWays {
		in := launch(t, "start", way)
		used := in.m.drawn - int64(in.mod.ExportedGlobal(FuelGlobal).Get())
		if want := int64(1000*7 + 2); used != want {
			t.Errorf("%s: got %d units, want %d", wayNames[way], used, want)
		}
		if r := in.call("get"); r.values[0] != 1000 {
			t.Errorf("%s: got %d, want 1000: the start function didn't run", wayNames[way], r.values[0])
		}
	}
}

// TestExitIsExact: at a call that ends the run, just what was executed is paid.
func TestExitIsExact(t *testing.T) {
	for _, way := range bothWays {
		in := launch(t, "host", way)
		r := in.call("exits", 1)
		if !errors.Is(r.err, exited{}) || r.used != 3 {
			t.Errorf("%s: got %d units and %v, want 3 and an exit", wayNames[way], r.used, r.err)
		}
	}
}

// TestTrapCount: what was paid before an unreachable instruction is not lost,
// whichever tank it was in. The stretch after the if is paid with the one before.
func TestTrapCount(t *testing.T) {
	in := launch(t, "host", metered)
	if r := in.call("traps", 0); r.trap != "unreachable" || r.used != 4+3 {
		t.Errorf("got %d units and %q, want 7 and unreachable", r.used, r.trap)
	}
}

// TestProgramsAgree runs the benchmark's programs in all ways: one result, one
// count, on a tank of any size; and it completes with just that much, no less.
func TestProgramsAgree(t *testing.T) {
	small := map[string]uint64{"loop": 1000, "sha256": 1, "fib": 12, "matrix": 1, "nbody": 50, "sort": 1, "vm": 1}
	for _, p := range programs {
		arg, ok := small[p.name]
		if !ok {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			b := p.wasm(t)
			want := runOnce(t, b, plain, ample, 1, arg)
			ref := runOnce(t, b, byReference, ample, 1<<20, arg)
			for _, slice := range []int64{1, 1000, 1 << 40} {
				if slice == 1 && ref.used > 1e6 {
					continue // a call of the host for each unit
				}
				got := runOnce(t, b, metered, ample, slice, arg)
				if diff := ref.differs(got); diff != "" || got.values[0] != want.values[0] {
					t.Fatalf("slice %d: %s (got %x, plain %x)", slice, diff, got.values, want.values)
				}
			}
			if r := runOnce(t, b, metered, ref.used, 1000, arg); r.err != nil || r.used != ref.used {
				t.Errorf("with just its %d units: %d used, %v", ref.used, r.used, r.err)
			}
			if r := runOnce(t, b, metered, ref.used-1, 1000, arg); r.trap != "fuel" {
				t.Errorf("with one unit less than its %d: got %q, want to be out of fuel", ref.used, r.trap)
			}
		})
	}
}

func runOnce(t testing.TB, b []byte, way int, budget, slice int64, arg uint64) result {
	m := newMachine(t)
	m.budget(budget)
	m.slice = slice
	in, err := m.start(rewriting(t, way)(b), "")
	if err != nil {
		t.Fatal(err)
	}
	return in.call("run", arg)
}

// TestNothingBeyondTheBudget: the host is not called for what isn't paid.
func TestNothingBeyondTheBudget(t *testing.T) {
	in := launch(t, "host", metered)
	for budget := int64(0); budget < 60; budget++ {
		in.m.budget(budget)
		in.m.slice, in.m.seen = 5, 0
		in.empty()
		r := in.call("calls", 100)
		// The k-th call is the third instruction of the k-th round of ten.
		if most := int(max(0, budget+7) / 10); in.m.seen > most || r.trap != "fuel" {
			t.Errorf("budget %d: the host was called %d times, want at most %d; %q", budget, in.m.seen, most, r.trap)
		}
	}
}

// TestSameBytes: the rewriting itself is deterministic.
func TestSameBytes(t *testing.T) {
	for _, p := range programs[:7] {
		b := p.wasm(t)
		if x, y := meter(t, b, false), meter(t, b, false); string(x) != string(y) {
			t.Errorf("%s: rewritten twice, got two modules", p.name)
		}
	}
}

// TestWeights: a vector instruction costs what the host says.
func TestWeights(t *testing.T) {
	b := guest(t, "lanes")
	var used []int64
	for _, w := range []int64{1, 4} {
		out, _, err := Meter(b, Options{SIMDWeight: w})
		if err != nil {
			t.Fatal(err)
		}
		m := newMachine(t)
		r := must(m.start(out, "")).call("store", 0, 0)
		if r.simd != 4 {
			t.Errorf("weight %d: got %d vector instructions, want 4", w, r.simd)
		}
		used = append(used, r.used)
	}
	if got := fmt.Sprint(used); got != "[9 21]" {
		t.Errorf("units at weights 1 and 4: got %s, want [9 21]", got)
	}
}
