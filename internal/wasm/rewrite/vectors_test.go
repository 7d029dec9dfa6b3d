package rewrite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "06-wasm"

// The ways to run a guest; all must do the same.
const (
	plain = iota
	byReference
	metered
	waysToRun
)

var wayNames = [waysToRun]string{"plain", "reference", "metered"}

func rewriting(t testing.TB, way int) func([]byte) []byte {
	if way == plain {
		return func(b []byte) []byte { return b }
	}
	return func(b []byte) []byte { return meter(t, b, way == byReference) }
}

func runScripts(t *testing.T, files []string) counts {
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	total := counts{}
	for _, f := range files {
		s, err := readScript(f)
		if err != nil {
			t.Fatal(err)
		}
		var logs [waysToRun][]result
		for way, name := range wayNames {
			t.Run(filepath.Base(f)+"/"+name, func(t *testing.T) { logs[way] = runScript(t, s, rewriting(t, way), total) })
		}
		compareLogs(t, f, logs[byReference], logs[metered])
	}
	t.Log(total)
	return total
}

// compareLogs holds the fast way against the plain one: the same bits, the same
// traps, and the same counts wherever a call ended well.
func compareLogs(t *testing.T, f string, want, got []result) {
	if len(want) != len(got) {
		t.Errorf("%s: got %d results, want %d", f, len(got), len(want))
		return
	}
	for k := range want {
		if diff := want[k].differs(got[k]); diff != "" {
			t.Errorf("%s:%d: metered against reference: %s", filepath.Base(f), want[k].line, diff)
		}
	}
}

func (r result) differs(x result) string {
	switch {
	case r.trap != x.trap:
		return fmt.Sprintf("trap: got %q, want %q", x.trap, r.trap)
	case !slices.Equal(r.values, x.values):
		return fmt.Sprintf("got %x, want %x", x.values, r.values)
	case r.memory != x.memory:
		return "memory differs"
	case r.err == nil && r.used != x.used:
		return fmt.Sprintf("units: got %d, want %d", x.used, r.used)
	case r.err == nil && r.simd != x.simd:
		return fmt.Sprintf("vector instructions: got %d, want %d", x.simd, r.simd)
	}
	return ""
}

func glob(t *testing.T, pattern string) []string {
	return must(filepath.Glob(filepath.Join(vectors.Dir(t, group), pattern)))
}

func TestSpecVectors(t *testing.T) {
	n := runScripts(t, glob(t, "spec/*.json"))
	for what, want := range map[string]int{"assert_invalid": 3 * 236, "assert_malformed": 3 * 234, "assert_return": 3 * 1653, "assert_trap": 3 * 231, "assert_exhaustion": 3 * 13} {
		if n[what] != want {
			t.Errorf("%s: got %d, want %d", what, n[what], want)
		}
	}
}

func TestWasmtimeVectors(t *testing.T) {
	n := runScripts(t, glob(t, "wasmtime-misc/*.json"))
	if n["module"] < 3*18 || n["assert_return"] < 3*15 {
		t.Errorf("got %v, want 18 modules and 15 returns each way", n)
	}
}

// TestEngineSuite runs the whole of the standard's tests, where the engine's
// source is at hand: it carries them.
func TestEngineSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole suite takes a minute")
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest", "v2", "testdata")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Skip("the engine's source, which carries the suite, isn't here")
	}
	n := runScripts(t, must(filepath.Glob(filepath.Join(dir, "*.json"))))
	if n["assert_return"] < 3*20000 {
		t.Errorf("got %d returns, want all of some 20,000 each way", n["assert_return"])
	}
}
