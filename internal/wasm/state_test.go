package wasm

import (
	"testing"

	"github.com/joulebox/joulebox"
)

// lastState keeps the state that a run ended in.
type lastState struct{ hash joulebox.ID }

func (*lastState) Called(*Call)            {}
func (l *lastState) Ended(c *Call, _ Exit) { l.hash = c.StateHash() }

func stateOf(t *testing.T, e *Engine, image []byte) joulebox.ID {
	t.Helper()
	var l lastState
	if exit := mustRun(t, compile(t, e, image), Params{Watch: &l}); exit.Cause != Returned {
		t.Fatalf("got %+v", exit)
	}
	return l.hash
}

// keeping has two globals, a number and a reference, and leaves n in the number.
func keeping(n int64, names ...string) []byte {
	a := &asm{}
	a.memory(1)
	a.globals = append(a.globals, cat(op(tI64, 1), i64Const(0), op(0x0b)), cat(op(tFunc, 1, 0xd0, tFunc, 0x0b)))
	a.fn("run", nil, toI32, 0, i64Const(n), op(0x24, 0), op(0xd2, 0), op(0x24, 1), i32Const(0))
	for i, name := range names {
		a.export(name, kGlobal, i)
	}
	return a.bytes()
}

// What a unit keeps in a global that nobody else sees is its state, as much as its
// memory is. References have no value that is the same in two instances.
func TestHiddenGlobalsAreState(t *testing.T) {
	e, again := newTestEngine(t), newTestEngine(t)
	seen := map[joulebox.ID]string{}
	for name, image := range map[string][]byte{
		"hidden 1": keeping(1), "hidden 2": keeping(2), "hidden 1<<40": keeping(1 << 40),
		"exported 1": keeping(1, "g"), "exported 2": keeping(2, "g"), "another name": keeping(1, "h"),
		"both": keeping(1, "g", "r"),
	} {
		hash := stateOf(t, e, image)
		if other, ok := seen[hash]; ok && name != "both" && other != "both" {
			t.Errorf("%s and %s have one state", name, other)
		}
		seen[hash] = name
		if other := stateOf(t, again, image); other != hash {
			t.Errorf("%s: got state %v in another engine, want %v", name, other, hash)
		}
	}
	if len(seen) != 6 {
		t.Errorf("got %d states, want 6: an exported reference is none", len(seen))
	}
}
