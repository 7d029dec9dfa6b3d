package wasm

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunReturns(t *testing.T) {
	e := newTestEngine(t)
	for _, n := range []int32{0, 1, 42, -1} {
		exit := mustRun(t, compile(t, e, returns(n)), Params{Entry: "run"})
		if exit.Cause != Returned || exit.Code != uint32(n) || exit.Instructions == 0 {
			t.Errorf("run -> %d: got %+v", n, exit)
		}
	}
}

func TestEndings(t *testing.T) {
	e := newTestEngine(t)
	guest := func(build func(a *asm)) *Module {
		a := &asm{}
		build(a)
		return compile(t, e, a.bytes())
	}
	for _, tt := range []struct {
		name string
		m    *Module
		want Exit
	}{
		{"unreachable", guest(func(a *asm) { a.fn("run", nil, toI32, 0, unreachable) }), Exit{Cause: Trapped, Trap: "unreachable"}},
		{"divide by zero", guest(func(a *asm) { a.fn("run", nil, toI32, 0, i32Const(1), i32Const(0), op(0x6d)) }), Exit{Cause: Trapped, Trap: "integer divide by zero"}},
		{"integer overflow", guest(func(a *asm) { a.fn("run", nil, toI32, 0, i32Const(-1<<31), i32Const(-1), op(0x6d)) }), Exit{Cause: Trapped, Trap: "integer overflow"}},
		{"invalid conversion", guest(func(a *asm) { a.fn("run", nil, toI32, 0, op(0x43, 0, 0, 0xc0, 0x7f, 0xa8)) }), Exit{Cause: Trapped, Trap: "invalid conversion to integer"}},
		{"load out of bounds", guest(func(a *asm) { a.memory(1); a.fn("run", nil, toI32, 0, i32Const(65533), op(0x28, 2, 0)) }), Exit{Cause: Trapped, Trap: "out of bounds memory access"}},
		{"call of null", guest(func(a *asm) {
			a.table(1)
			a.fn("run", nil, toI32, 0, i32Const(0), op(0x11, 0, 0))
		}), Exit{Cause: Trapped, Trap: "invalid table access"}},
		{"call of another type", guest(func(a *asm) {
			a.table(1)
			f := a.fn("", nil, nil, 0)
			a.elem(0, f)
			a.fn("run", nil, toI32, 0, i32Const(0), op(0x11, 1, 0))
		}), Exit{Cause: Trapped, Trap: "indirect call type mismatch"}},
		{"recursion", guest(func(a *asm) { a.fn("run", nil, toI32, 0, call(0), i32Const(1), i32Add) }), Exit{Cause: Trapped, Trap: "stack exhausted"}},
		{"data out of bounds", guest(func(a *asm) { a.memory(1); a.data(65535, "xy"); a.fn("run", nil, toI32, 0, i32Const(1)) }), Exit{Cause: Trapped, Trap: "out of bounds memory access"}},
		{"element out of bounds", guest(func(a *asm) { a.table(1); a.elem(1, 0); a.fn("run", nil, toI32, 0, i32Const(1)) }), Exit{Cause: Trapped, Trap: "out of bounds table access"}},
		{"exit", guest(func(a *asm) {
			f := a.imp("test", "exit", toI32, nil)
			a.fn("run", nil, toI32, 0, i32Const(7), call(f), unreachable)
		}), Exit{Cause: Exited, Code: 7}},
		{"exit from a host function that swallows panics", guest(func(a *asm) {
			f := a.imp("test", "swallow", toI32, nil)
			a.fn("run", nil, toI32, 0, i32Const(8), call(f), unreachable)
		}), Exit{Cause: Exited, Code: 8}},
		{"trap in the start function", guest(func(a *asm) {
			f := a.fn("", nil, nil, 0, unreachable)
			a.start = uleb(uint64(f))
			a.fn("run", nil, toI32, 0, i32Const(1))
		}), Exit{Cause: Trapped, Trap: "unreachable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := mustRun(t, tt.m, Params{})
			if got.Cause != tt.want.Cause || got.Code != tt.want.Code || got.Trap != tt.want.Trap {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestHostPanicIsTheHosts(t *testing.T) {
	e := newTestEngine(t)
	for _, name := range []string{"panic", "nilderef"} {
		a := &asm{}
		f := a.imp("test", name, nil, nil)
		a.fn("run", nil, toI32, 0, call(f), i32Const(0))
		_, err := compile(t, e, a.bytes()).Run(t.Context(), Params{Limits: enough()})
		var internal *InternalError
		if !errors.As(err, &internal) {
			t.Errorf("%s: got %v, want an *InternalError", name, err)
		}
	}
}

func TestOrderOfCalls(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	note := a.imp("test", "note", toI32, nil)
	start := a.fn("", nil, nil, 0, i32Const(1), call(note))
	a.start = uleb(uint64(start))
	a.fn("_initialize", nil, nil, 0, i32Const(2), call(note))
	a.fn("run", nil, toI32, 0, i32Const(3), call(note), i32Const(0))
	a.fn("_start", nil, nil, 0, i32Const(4), call(note))
	m := compile(t, e, a.bytes())
	for entry, want := range map[string][]uint32{"run": {1, 2, 3}, "": {1, 2, 3}, "_start": {1, 4}, "_initialize": {1, 2}} {
		var got []uint32
		mustRun(t, m, Params{Entry: entry, State: &got})
		if len(got) != len(want) {
			t.Fatalf("entry %q: called %v, want %v", entry, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("entry %q: called %v, want %v", entry, got, want)
			}
		}
	}
}

func TestEntryIsChecked(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	a.memory(1)
	a.fn("run", toI32, toI32, 0, i32Const(0))
	a.fn("_start", nil, toI32, 0, i32Const(0))
	a.fn("ok", nil, nil, 0)
	a.fn("long", nil, []byte{tI64}, 0, i64Const(0))
	a.export("mem", kMem, 0)
	m := compile(t, e, a.bytes())
	for entry, text := range map[string]string{
		"run":    `export "run" is (i32) -> (i32), want () -> (i32)`,
		"_start": `export "_start" is () -> (i32), want () -> ()`,
		"long":   `export "long" is () -> (i64), want () -> () or () -> (i32)`,
		"mem":    `export "mem" is a memory, want a function`,
		"none":   `no export "none"; it has "ok"`,
	} {
		_, err := m.Run(t.Context(), Params{Entry: entry, Limits: enough()})
		wantRefused(t, err, RefusedEntry, text)
	}
	if exit := mustRun(t, m, Params{Entry: "ok"}); exit.Cause != Returned || exit.Code != 0 {
		t.Errorf("entry ok: got %+v", exit)
	}
}

func TestZeroFuelIsAnError(t *testing.T) {
	m := compile(t, newTestEngine(t), returns(1))
	if _, err := m.Run(t.Context(), Params{}); err == nil {
		t.Error("a run without fuel: got no error")
	}
}

func TestTimesAreMeasured(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	f := a.imp("test", "sleep", toI32, nil)
	a.fn("run", nil, toI32, 1, i32Const(20), call(f), countdown(0, 20_000_000), i32Const(0))
	exit := mustRun(t, compile(t, e, a.bytes()), Params{MeasureCPU: true})
	if exit.WallTime < 20*time.Millisecond || exit.CPUTime >= exit.WallTime || (threadCPU() > 0 && exit.CPUTime == 0) {
		t.Errorf("got wall %v, cpu %v, want at least 20ms of wall and less, but some, of cpu", exit.WallTime, exit.CPUTime)
	}
}

// TestArgumentsAreClean calls with a 32-bit argument where a 64-bit one was just
// before: what is left of that must not be seen.
func TestArgumentsAreClean(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	charge := a.imp("test", "charge", []byte{tI64}, nil)
	half := a.imp("test", "half", toI32, toI32)
	a.fn("run", nil, toI32, 0, i64Const(1<<33+1), op(0xa7), drop, i64Const(0), call(charge), i32Const(-1), call(half))
	a.fn("wrapped", nil, toI32, 0, i64Const(-1), op(0xa7), call(half))
	m := compile(t, e, a.bytes())
	for _, entry := range []string{"run", "wrapped"} {
		if exit := mustRun(t, m, Params{Entry: entry}); exit.Code != 0 {
			t.Errorf("%s: the upper half of an i32 argument is %#x, want 0", entry, exit.Code)
		}
	}
}

func TestHostSeesMemory(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	peek := a.imp("test", "peek", toI32, toI32)
	a.memory(1)
	a.data(100, "x")
	a.fn("run", nil, toI32, 0, i32Const(1), memGrow, drop, i32Const(1<<16+5), i32Const(3), op(0x3a, 0, 0), i32Const(1<<16+5), call(peek), i32Const(100), call(peek), i32Add)
	if exit := mustRun(t, compile(t, e, a.bytes()), Params{}); exit.Code != 'x'+3 {
		t.Errorf("got %+v, want code %d", exit, 'x'+3)
	}
}

func TestTrace(t *testing.T) {
	a := &asm{}
	testNop(a)
	inner := a.fn("", nil, nil, 1, loop(localGet(0), ifThen(unreachable), i32Const(1), localSet(0), brLoop))
	outer := a.fn("", nil, nil, 0, call(inner))
	a.fn("run", nil, toI32, 0, call(outer), i32Const(0))
	exit := mustRun(t, compile(t, newTestEngine(t), a.bytes()), Params{})
	if got, want := strings.Join(exit.Trace, " "), "$1 $2 $3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCutSignature(t *testing.T) {
	for line, want := range map[string]string{
		"m.f()": "m.f", ".f(i32,i64) i32": ".f", ".std::f(int)(i32) (i32,i64)": ".std::f(int)", "... maybe followed by omitted frames": "",
	} {
		if got, _, _ := cutSignature(line); got != want {
			t.Errorf("%q: got name %q, want %q", line, got, want)
		}
	}
}
