package wasm

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// used is what a run of m takes when nothing bounds it.
func used(t testing.TB, m *Module) uint64 {
	t.Helper()
	exit := mustRun(t, m, Params{})
	if exit.Cause != Returned {
		t.Fatalf("unbounded: got %+v", exit)
	}
	return exit.FuelUsed
}

func TestFuelIsExact(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	charge := a.imp("test", "charge", []byte{tI64}, nil)
	a.fn("run", nil, toI32, 1, countdown(0, 1000), i64Const(5000), call(charge), countdown(0, 1000), i32Const(0))
	m := compile(t, e, a.bytes())
	all := used(t, m)
	if all < 5000+2*1000 {
		t.Fatalf("used %d units, want at least 7000", all)
	}
	for _, slice := range []uint64{1, 7, 100, 4096, 1 << 40} {
		for _, fuel := range []uint64{1, 100, all / 2, all - 1, all, all + 1} {
			l := enough()
			l.Fuel, l.Slice = fuel, slice
			exit := mustRun(t, m, Params{Limits: l})
			if fuel >= all && (exit.Cause != Returned || exit.FuelUsed != all) {
				t.Errorf("fuel %d, slice %d: got %+v, want returned with %d used", fuel, slice, exit, all)
			}
			if fuel < all && (exit.Cause != OutOfFuel || exit.FuelUsed != fuel) {
				t.Errorf("fuel %d, slice %d: got %+v, want out of fuel with %d used", fuel, slice, exit, fuel)
			}
		}
	}
}

func TestChargesAreApart(t *testing.T) {
	e := newTestEngine(t)
	guest := func(units int64) Exit {
		a := &asm{}
		charge := a.imp("test", "charge", []byte{tI64}, nil)
		a.fn("run", nil, toI32, 0, i64Const(units), call(charge), i32Const(0))
		return mustRun(t, compile(t, e, a.bytes()), Params{})
	}
	none, some := guest(0), guest(12345)
	if some.Instructions != none.Instructions || some.FuelUsed != none.FuelUsed+12345 || none.Instructions != none.FuelUsed {
		t.Errorf("charge 0: got %+v; charge 12345: got %+v", none, some)
	}
	if exit := guest(-1); exit.Cause != OutOfFuel { // 2^64-1
		t.Errorf("charge 2^64-1: got %+v, want out of fuel", exit)
	}
}

func TestInstructionsSeenByTheHost(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	count := a.imp("test", "count", nil, []byte{tI64})
	a.memory(1)
	a.fn("run", nil, toI32, 1, call(count), countdown(0, 100_000), call(count), op(0x7d), op(0xa7)) // i64.sub, i32.wrap
	m := compile(t, e, a.bytes())
	first := mustRun(t, m, Params{}).Code
	l := enough()
	l.Slice = 1000
	if again := mustRun(t, m, Params{Limits: l}).Code; again != first || -int32(first) < 100_000 {
		t.Errorf("counted %d units between two calls and then %d, want the same and at least 100000", -int32(first), -int32(again))
	}
}

func TestDeadline(t *testing.T) {
	e := newTestEngine(t)
	m := compile(t, e, spins())
	l := enough()
	l.Fuel = 1 << 62
	l.Deadline = time.Now().Add(50 * time.Millisecond)
	exit := mustRun(t, m, Params{Limits: l})
	if exit.Cause != OutOfTime || exit.WallTime < 40*time.Millisecond || exit.WallTime > time.Second {
		t.Errorf("got %+v, want out of time after 50ms", exit)
	}
	l.Deadline = time.Now().Add(-time.Second)
	if exit := mustRun(t, compile(t, e, returns(1)), Params{Limits: l}); exit.Cause != OutOfTime {
		t.Errorf("a deadline in the past: got %+v, want out of time", exit)
	}
}

func TestDeadlineDuringAHostCall(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	block := a.imp("test", "block", nil, nil)
	a.fn("run", nil, toI32, 0, call(block), i32Const(0))
	l := enough()
	l.Deadline = time.Now().Add(20 * time.Millisecond)
	if exit := mustRun(t, compile(t, e, a.bytes()), Params{Limits: l}); exit.Cause != OutOfTime {
		t.Errorf("got %+v, want out of time", exit)
	}
}

func TestDeadlineBetweenHostCalls(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	sleep := a.imp("test", "sleep", toI32, nil)
	a.fn("run", nil, toI32, 1, countdown(0, 1000, i32Const(5), call(sleep)), i32Const(0))
	l := enough()
	l.Deadline = time.Now().Add(20 * time.Millisecond)
	if exit := mustRun(t, compile(t, e, a.bytes()), Params{Limits: l}); exit.Cause != OutOfTime || exit.WallTime > time.Second {
		t.Errorf("got %+v, want out of time soon", exit)
	}
}

func TestCancel(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	block := a.imp("test", "block", nil, nil)
	a.fn("run", nil, toI32, 0, call(block), i32Const(0))
	for name, m := range map[string]*Module{"computing": compile(t, e, spins()), "in a host call": compile(t, e, a.bytes())} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		l := enough()
		l.Fuel = 1 << 62
		if exit, err := m.Run(ctx, Params{Limits: l}); err != nil || exit.Cause != Cancelled || exit.WallTime > time.Second {
			t.Errorf("%s: got %+v, %v, want cancelled", name, exit, err)
		}
		if exit, err := m.Run(ctx, Params{Limits: l}); err != nil || exit.Cause != Cancelled {
			t.Errorf("%s, cancelled before: got %+v, %v, want cancelled", name, exit, err)
		}
	}
}

// grows asks for pages one by one until memory.grow fails, and returns the size.
func grows(max ...uint64) []byte {
	a := &asm{}
	a.memory(append([]uint64{1}, max...)...)
	a.fn("run", nil, toI32, 0, loop(i32Const(1), memGrow, i32Const(-1), op(0x47), brIfLoop), op(0x3f, 0))
	return a.bytes()
}

func TestMemoryCap(t *testing.T) {
	e := newTestEngine(t)
	l := enough()
	l.MemoryBytes = 10 << 20
	exit := mustRun(t, compile(t, e, grows()), Params{Limits: l})
	if exit.Cause != OutOfMemory || exit.PeakMemoryBytes != 10<<20 {
		t.Errorf("without a maximum: got %+v, want out of memory at 10 MiB", exit)
	}
	exit = mustRun(t, compile(t, e, grows(100)), Params{Limits: l})
	if exit.Cause != Returned || exit.Code != 100 || exit.PeakMemoryBytes != 100<<16 {
		t.Errorf("maximum of 100 pages: got %+v, want memory.grow to fail there", exit)
	}
	l.MemoryBytes = 1<<16 - 1
	_, err := compile(t, e, grows()).Run(t.Context(), Params{Limits: l})
	wantRefused(t, err, RefusedMemory, "need 65536 bytes to start with, got memory_bytes 65535: grant at least 65536")
}

func TestTablesCountAgainstTheCap(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	a.table(100)
	a.fn("run", nil, toI32, 0, loop(op(0xd0, 0x70), i32Const(1000), op(0xfc, 15, 0), i32Const(-1), op(0x47), brIfLoop), i32Const(0))
	m := compile(t, e, a.bytes())
	l := enough()
	l.MemoryBytes = 1 << 20
	exit := mustRun(t, m, Params{Limits: l})
	if exit.Cause != OutOfMemory || exit.PeakMemoryBytes > 1<<20 || exit.PeakMemoryBytes < 1<<20-1000*TableEntryBytes {
		t.Errorf("got %+v, want out of memory just below 1 MiB", exit)
	}
	l.MemoryBytes = 100*TableEntryBytes - 1
	_, err := m.Run(t.Context(), Params{Limits: l})
	wantRefused(t, err, RefusedMemory, "100 table entries")
}

func TestMemoryStartsAtZero(t *testing.T) {
	e := newTestEngine(t)
	for _, pages := range []uint64{1, 40} { // cleared by hand, and by the kernel
		a := &asm{}
		a.memory(pages)
		at := int32(pages*65536 - 8)
		a.fn("run", nil, toI32, 0, i32Const(at), op(0x28, 2, 0), i32Const(at), i32Const(77), op(0x36, 2, 0))
		m := compile(t, e, a.bytes())
		for i := range 10 {
			if exit := mustRun(t, m, Params{}); exit.Code != 0 {
				t.Fatalf("%d pages, run %d: found %d in fresh memory", pages, i, exit.Code)
			}
		}
	}
}

func TestStackAllowance(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	// f(n) = n == 0 ? 0 : f(n-1) + 1
	f := a.fn("", toI32, toI32, 0, localGet(0), op(0x45), op(0x04, tI32), i32Const(0), op(0x05), localGet(0), i32Const(1), i32Sub, call(0), i32Const(1), i32Add, op(0x0b))
	a.fn("run", nil, toI32, 0, i32Const(100_000), call(f))
	m := compile(t, e, a.bytes())
	if exit := mustRun(t, m, Params{}); exit.Cause != Returned || exit.Code != 100_000 {
		t.Errorf("100,000 calls deep: got %+v", exit)
	}
	l := enough()
	l.StackWords = 1000
	if exit := mustRun(t, m, Params{Limits: l}); exit.Cause != Trapped || exit.Trap != TrapStack {
		t.Errorf("with 1,000 words: got %+v, want stack exhausted", exit)
	}
}

func TestLive(t *testing.T) {
	e := newTestEngine(t)
	live := &Live{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := make(chan uint64, 1)
	go func() {
		first := uint64(0)
		for ctx.Err() == nil && (first == 0 || live.Units() == first) {
			if first == 0 {
				first = live.Units()
			}
			time.Sleep(time.Millisecond)
		}
		seen <- first
		cancel() // it was seen twice while the unit ran, with more the second time
	}()
	l := enough()
	l.Deadline = time.Now().Add(time.Hour)
	m := compile(t, e, spins())
	if _, err := m.Run(ctx, Params{Limits: l, Live: live}); err != nil {
		t.Fatal(err)
	}
	if first := <-seen; first == 0 || first >= live.Units() {
		t.Errorf("units: got %d at first and %d at the end, want both above 0 and growing", first, live.Units())
	}
}

func TestUnmeteredCanBeEnded(t *testing.T) {
	e := newTestEngine(t)
	trusted := func(image []byte) *Module {
		m, err := e.Compile(t.Context(), image, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return m
	}
	l := Limits{MemoryBytes: 1 << 20, Deadline: time.Now().Add(30 * time.Millisecond)}
	if exit := mustRun(t, trusted(spins()), Params{Limits: l}); exit.Cause != OutOfTime || exit.Instructions != 0 || exit.FuelUsed != 0 {
		t.Errorf("endless: got %+v, want out of time and no counts", exit)
	}
	l.Deadline = time.Time{}
	if exit := mustRun(t, trusted(grows()), Params{Limits: l}); exit.Cause != OutOfMemory {
		t.Errorf("growing: got %+v, want out of memory", exit)
	}
	if exit := mustRun(t, trusted(returns(5)), Params{Limits: l}); exit.Cause != Returned || exit.Code != 5 {
		t.Errorf("returning 5: got %+v", exit)
	}
}

func TestCPULimit(t *testing.T) {
	if threadCPU() == 0 {
		t.Skip("this system doesn't tell a thread's processor time")
	}
	e := newTestEngine(t)
	a := &asm{}
	sleep := a.imp("test", "sleep", toI32, nil)
	a.fn("run", nil, toI32, 0, i32Const(100), call(sleep), loop(brLoop), i32Const(0))
	l := enough()
	l.Fuel, l.CPU = 1<<62, 50*time.Millisecond
	exit := mustRun(t, compile(t, e, a.bytes()), Params{Limits: l})
	if exit.Cause != OutOfCPU || exit.CPUTime < 50*time.Millisecond || exit.CPUTime > 80*time.Millisecond || exit.WallTime < 150*time.Millisecond {
		t.Errorf("got %+v, want out of processor time at 50ms of it, after 100ms of sleep", exit)
	}
}

// TestReferencesAreNotPiledUp executes ref.func a million times: wazero keeps
// 48 bytes for each execution.
func TestReferencesAreNotPiledUp(t *testing.T) {
	e := newTestEngine(t)
	a := &asm{}
	a.table(1)
	f := a.fn("", nil, nil, 0)
	a.elem(0, f)
	a.fn("run", nil, toI32, 1, countdown(0, 1_000_000, op(0xd2, byte(f)), drop), i32Const(0))
	m := compile(t, e, a.bytes())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if exit := mustRun(t, m, Params{}); exit.Cause != Returned {
		t.Errorf("got %+v", exit)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("a million references took %d bytes of the host", grown)
	}
}

func TestReferencesCountAgainstTheCap(t *testing.T) {
	a := &asm{}
	a.table(1)
	f := a.fn("run", nil, toI32, 0, i32Const(0))
	for range 1000 {
		a.elem(0, f)
	}
	l := enough()
	l.MemoryBytes = 1000*referenceBytes + TableEntryBytes - 1
	m := compile(t, newTestEngine(t), a.bytes())
	_, err := m.Run(t.Context(), Params{Limits: l})
	wantRefused(t, err, RefusedMemory, "1000 references")
	l.MemoryBytes++
	if exit := mustRun(t, m, Params{Limits: l}); exit.Cause != Returned || exit.PeakMemoryBytes != l.MemoryBytes {
		t.Errorf("got %+v, want it to run in %d bytes", exit, l.MemoryBytes)
	}
}
