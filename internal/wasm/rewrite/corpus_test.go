package rewrite

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCorpus runs every module of the folder that $JOULEBOX_WASM_CORPUS names in
// all ways, and holds Scan against the engine's own validator.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("JOULEBOX_WASM_CORPUS")
	if dir == "" {
		t.Skip("set $JOULEBOX_WASM_CORPUS to a folder of modules")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.wasm"))
	for _, f := range files {
		b := must(os.ReadFile(f))
		t.Run(filepath.Base(f), func(t *testing.T) { runTrial(t, b) })
	}
}
