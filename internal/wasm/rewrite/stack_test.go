package rewrite

import (
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// TestStackAllowance: how deep a guest can recurse depends on its allowance and
// its own frames, by our count, and on nothing else.
func TestStackAllowance(t *testing.T) {
	for _, fn := range []string{"self", "even", "through"} {
		var depths [waysToRun]uint64
		for _, way := range bothWays {
			in := launch(t, "recur", way)
			stack := in.mod.ExportedGlobal(StackGlobal).(api.MutableGlobal)
			reaches := func(n uint64) bool {
				stack.Set(10_000)
				r := in.call(fn, n)
				if r.err != nil && r.trap != "stack overflow" {
					t.Fatalf("%s(%d): %v", fn, n, r.err)
				}
				if r.err == nil && stack.Get() != 10_000 {
					t.Fatalf("%s(%d): allowance is %d after it returned, want it back", fn, n, stack.Get())
				}
				return r.err == nil
			}
			depths[way] = deepest(reaches)
		}
		if depths[byReference] != depths[metered] || depths[metered] < 100 || depths[metered] > 5000 {
			t.Errorf("%s: got depths %v, want the same and some hundreds", fn, depths)
		}
	}
}

// deepest finds the largest n that a monotonic predicate holds for.
func deepest(ok func(uint64) bool) uint64 {
	low, high := uint64(0), uint64(1)<<20
	for low < high {
		if mid := (low + high + 1) / 2; ok(mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// TestChains: calls that can't recurse take no allowance; their longest chain is known.
func TestChains(t *testing.T) {
	_, info, err := Meter(guest(t, "recur"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if info.StaticStackWords < 20 || info.StaticStackWords > 60 {
		t.Errorf("got a chain of %d words, want those of three small frames", info.StaticStackWords)
	}
	in := launch(t, "recur", metered)
	in.mod.ExportedGlobal(StackGlobal).(api.MutableGlobal).Set(0)
	if r := in.call("chain", 5); r.err != nil {
		t.Errorf("with no allowance: %v", r.err)
	}
	lim := DefaultLimits()
	lim.ChainWords = 10
	if _, _, err := Meter(guest(t, "recur"), Options{Limits: &lim}); err == nil {
		t.Error("a chain longer than the limit was admitted")
	}
}
