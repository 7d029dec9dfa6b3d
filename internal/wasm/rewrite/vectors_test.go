package rewrite

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "06-wasm"

// ways are the ways to run a guest; all must do the same.
var ways = map[string]func(testing.TB) func([]byte) []byte{
	"plain":     func(testing.TB) func([]byte) []byte { return func(b []byte) []byte { return b } },
	"reference": func(t testing.TB) func([]byte) []byte { return func(b []byte) []byte { return meter(t, b, true) } },
	"metered":   func(t testing.TB) func([]byte) []byte { return func(b []byte) []byte { return meter(t, b, false) } },
}

func runScripts(t *testing.T, files []string) counts {
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	total := counts{}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for _, f := range files {
				s, err := readScript(f)
				if err != nil {
					t.Fatal(err)
				}
				runScript(t, s, way(t), total)
			}
		})
	}
	t.Log(total)
	return total
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
