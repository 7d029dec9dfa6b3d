package wasm

import (
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

// TestSameCountEverywhere runs guests with compiler and interpreter, from a cold
// and from a warm cache, in slices of all sizes and side by side: all that may
// differ is the time it takes.
func TestSameCountEverywhere(t *testing.T) {
	dir := t.TempDir()
	cold := newTestEngine(t, withDir(dir))
	guests := countedGuests(t, cold)
	if len(guests) < 30 {
		t.Fatalf("%d guests", len(guests))
	}
	want := map[string]Exit{}
	for name, image := range guests {
		want[name] = count(t, cold, image, 0)
	}
	warm := newTestEngine(t, withDir(dir))
	interpreter := newTestEngine(t, func(c *Config) { c.Interpreter = true })
	for name, image := range guests {
		for _, again := range []struct {
			how   string
			e     *Engine
			slice uint64
		}{{"from a warm cache", warm, 0}, {"again", cold, 0}, {"in small slices", cold, 3}, {"interpreted", interpreter, 0}} {
			if w := want[name]; again.slice != 0 && w.Cause == Trapped && w.Trap != trapUnreachable && w.Trap != TrapStack {
				continue // charged by the slice
			}
			if got := count(t, again.e, image, again.slice); !sameExit(got, want[name]) {
				t.Errorf("%s, %s: got %+v, want %+v", name, again.how, got, want[name])
			}
		}
	}
	var wg sync.WaitGroup
	for name, image := range guests {
		for range 4 {
			wg.Go(func() {
				if got := count(t, warm, image, 0); !sameExit(got, want[name]) {
					t.Errorf("%s, among others: got %+v, want %+v", name, got, want[name])
				}
			})
		}
	}
	wg.Wait()
}

// countedGuests are the hand-made ones, and all public vectors that need no host.
func countedGuests(t *testing.T, e *Engine) map[string][]byte {
	guests := map[string][]byte{"returns": returns(1), "computes": computes(1000), "grows": grows(20), "spins": spins(), "host calls": hostCalls(100)}
	for _, group := range []string{"malicious/wamr-issues", "malicious/wazero-fuzz", "malicious/crafted"} {
		files, err := filepath.Glob(filepath.Join(vectors.Dir(t, "06-wasm"), group, "*.wasm"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			image, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := e.Compile(t.Context(), image, Options{Metered: true})
			if err != nil {
				continue
			}
			if m.entryForTest() != "" {
				guests[filepath.Base(file)] = image
			}
			m.Close()
		}
	}
	return guests
}

// entryForTest is an export that can be called, the first by name.
func (m *Module) entryForTest() (found string) {
	for name := range m.exports {
		if entry, err := m.entry(name); err == nil && (found == "" || entry < found) {
			found = entry
		}
	}
	return found
}

// count runs a guest in little fuel, and leaves out what is time.
func count(t *testing.T, e *Engine, image []byte, slice uint64) Exit {
	t.Helper()
	m, err := e.Compile(t.Context(), image, Options{Metered: true})
	if err != nil {
		t.Error(err)
		return Exit{}
	}
	defer m.Close()
	exit, err := m.Run(t.Context(), Params{Entry: m.entryForTest(), Limits: Limits{Fuel: 200_000, Slice: slice, MemoryBytes: 64 << 20, StackWords: 1 << 14}})
	if err != nil {
		t.Error(err)
	}
	exit.WallTime, exit.CPUTime, exit.Trace = 0, 0, nil
	return exit
}

func sameExit(a, b Exit) bool { return reflect.DeepEqual(a, b) }
