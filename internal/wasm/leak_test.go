package wasm

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// usage is what a process must not pile up.
type usage struct {
	rss, heap, maps, fds, goroutines int
}

func usageNow(t *testing.T) (u usage) {
	t.Helper()
	runtime.GC()
	runtime.GC() // the first one runs finalizers, the second takes what they kept
	time.Sleep(50 * time.Millisecond)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.heap, u.goroutines = int(m.HeapAlloc), runtime.NumGoroutine()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("no /proc/self/maps: %v", err)
	}
	u.maps = strings.Count(string(maps), "\n")
	fds, _ := os.ReadDir("/proc/self/fd")
	u.fds = len(fds)
	u.rss = residentBytes(t)
	return u
}

func residentBytes(t *testing.T) int {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, c := range strings.Fields(string(statm))[1] {
		pages = pages*10 + int(c-'0')
	}
	return pages * os.Getpagesize()
}

func wantNoGrowth(t *testing.T, before, after usage) {
	t.Helper()
	t.Logf("before %+v\nafter  %+v", before, after)
	const slack = 8 << 20
	if after.rss > before.rss+4*slack || after.heap > before.heap+slack {
		t.Errorf("memory grew: resident %d, heap %d bytes", after.rss-before.rss, after.heap-before.heap)
	}
	if after.maps > before.maps+40 || after.fds > before.fds || after.goroutines > before.goroutines {
		t.Errorf("left behind: %d mappings, %d descriptors, %d goroutines", after.maps-before.maps, after.fds-before.fds, after.goroutines-before.goroutines)
	}
}

// everyEnding is a set of runs that end in all ways there are.
func everyEnding(t *testing.T, e *Engine) []func() {
	exits := &asm{}
	exit := exits.imp("test", "exit", toI32, nil)
	exits.fn("run", nil, toI32, 0, i32Const(7), call(exit), unreachable)
	deep := &asm{}
	deep.fn("run", nil, toI32, 0, call(0), i32Const(1), i32Add)
	data := &asm{}
	data.memory(1)
	data.data(65535, "xy")
	data.fn("run", nil, toI32, 0, i32Const(1))
	var runs []func()
	for _, image := range [][]byte{emptyUnit(), exits.bytes(), deep.bytes(), data.bytes(), grows(), spins(), hostCalls(10)} {
		m := compile(t, e, image)
		runs = append(runs, func() {
			l := Limits{Fuel: 300_000, MemoryBytes: 8 << 20, StackWords: 1 << 14, Deadline: time.Now().Add(time.Minute)}
			if _, err := m.Run(context.Background(), Params{Limits: l}); err != nil {
				t.Error(err)
			}
			_, _ = m.Run(context.Background(), Params{Limits: Limits{Fuel: 1}, Entry: "none"})
		})
	}
	return runs
}

func TestRunsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	e := newTestEngine(t)
	runs := everyEnding(t, e)
	many := func(n int) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range n / 4 {
					runs[i%len(runs)]()
				}
			})
		}
		wg.Wait()
	}
	many(2000)
	before := usageNow(t)
	many(10_000)
	wantNoGrowth(t, before, usageNow(t))
}

// TestModulesLeaveNothing loads modules from the cache, over and over.
func TestModulesLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	dir := t.TempDir()
	load := func(n int) {
		for i := range n {
			e, err := NewEngine(Config{HostFuncs: hostFuncs, CacheDir: dir, InProcess: true})
			if err != nil {
				t.Fatal(err)
			}
			m, err := e.Compile(t.Context(), hostCalls(int32(i%3)+1), Options{Metered: true})
			if err != nil {
				t.Fatal(err)
			}
			mustRun(t, m, Params{})
			m.Close()
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	load(100)
	before := usageNow(t)
	load(1000)
	wantNoGrowth(t, before, usageNow(t))
}

// TestClosedWhileRunning closes module and engine under a run, which goes on.
func TestClosedWhileRunning(t *testing.T) {
	e, err := NewEngine(Config{HostFuncs: hostFuncs, CacheDir: t.TempDir(), InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Compile(t.Context(), computes(50_000_000), Options{Metered: true})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	live := &Live{}
	wg.Go(func() {
		if exit := mustRun(t, m, Params{Live: live}); exit.Cause != Returned {
			t.Errorf("got %+v", exit)
		}
	})
	for live.Units() == 0 {
		time.Sleep(time.Millisecond)
	}
	m.Close()
	_ = e.Close()
	runtime.GC()
	wg.Wait()
	if _, err := m.Run(t.Context(), Params{Limits: enough()}); err == nil {
		t.Error("a closed module ran")
	}
}

// TestManyRunsAtOnce shares one module among runs that must not see each other.
func TestManyRunsAtOnce(t *testing.T) {
	a := &asm{}
	note := a.imp("test", "note", toI32, nil)
	a.memory(1)
	// Adds 1 to a word of memory, and notes it, 100 times.
	a.fn("run", nil, toI32, 1, countdown(0, 100, i32Const(8), i32Const(8), op(0x28, 2, 0), i32Const(1), i32Add, op(0x36, 2, 0), i32Const(8), op(0x28, 2, 0), call(note)), i32Const(8), op(0x28, 2, 0))
	m := compile(t, newTestEngine(t), a.bytes())
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				var notes []uint32
				exit := mustRun(t, m, Params{State: &notes})
				if exit.Code != 100 || len(notes) != 100 || notes[99] != 100 {
					t.Errorf("got %+v and %d notes, want 100 and 100", exit, len(notes))
				}
			}
		})
	}
	wg.Wait()
}
