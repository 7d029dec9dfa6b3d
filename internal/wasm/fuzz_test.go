package wasm

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/vectors"
)

// FuzzCompileAndRun holds the engine to its word: whatever the bytes, a module is
// refused with a reason or ends with a cause, within its bounds.
func FuzzCompileAndRun(f *testing.F) {
	for _, image := range [][]byte{returns(1), spins(), grows(), hostCalls(3), computes(9), emptyUnit(), slow(1, 9)} {
		f.Add(image)
	}
	files, _ := filepath.Glob(filepath.Join(vectors.Dir(f, "06-wasm"), "malicious", "*", "*.wasm"))
	for _, file := range files {
		if image, err := os.ReadFile(file); err == nil && len(image) < 4096 {
			f.Add(image)
		}
	}
	e := newTestEngine(f)
	f.Fuzz(func(t *testing.T, image []byte) {
		if len(image) > 8192 {
			t.Skip("compiling is bounded in the child only")
		}
		m, err := e.Compile(t.Context(), image, Options{Metered: true})
		var refused *RefusedError
		if errors.As(err, &refused) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		const fuel, memory = 100_000, 4 << 20
		exit, err := m.Run(t.Context(), Params{Entry: m.entryForTest(), State: &[]uint32{}, Limits: Limits{Fuel: fuel, MemoryBytes: memory, Deadline: time.Now().Add(2 * time.Second)}})
		if errors.As(err, &refused) {
			return
		}
		var internal *InternalError
		if err != nil && !errors.As(err, &internal) { // our own host functions panic on purpose
			t.Fatal(err)
		}
		if exit.FuelUsed > fuel || exit.PeakMemoryBytes > memory || (err == nil && exit.Cause == 0) {
			t.Errorf("out of bounds: %+v", exit)
		}
	})
}
