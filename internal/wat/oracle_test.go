package wat_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/internal/wasm/rewrite"
	"github.com/joulebox/joulebox/internal/wat"
)

// withoutCustom leaves out the sections that say nothing about what a module does.
func withoutCustom(t *testing.T, module []byte) []byte {
	t.Helper()
	out := append([]byte(nil), module[:8]...)
	for rest := module[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || uint64(len(rest)) < 1+uint64(n)+size {
			t.Fatalf("a section breaks off")
		}
		end := 1 + uint64(n) + size
		if rest[0] != 0 {
			out = append(out, rest[:end]...)
		}
		rest = rest[end:]
	}
	return out
}

// TestSameAsBuilt: every text in this repository gives the module beside it, which
// another assembler made.
func TestSameAsBuilt(t *testing.T) {
	root := filepath.Join("..", "..")
	pairs := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".wat" {
			return err
		}
		want, err := os.ReadFile(strings.TrimSuffix(path, ".wat") + ".wasm")
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := wat.Assemble(src)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		pairs++
		if !bytes.Equal(withoutCustom(t, got), withoutCustom(t, want)) {
			t.Errorf("%s: got %d bytes\n%x\nwant %d\n%x", path, len(got), got, len(want), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pairs < 8 {
		t.Errorf("compared %d pairs: the test proves little", pairs)
	}
}

// TestTextOfEveryVectorModule: the text that another program writes for a module,
// flat and folded, gives the same module again.
func TestTextOfEveryVectorModule(t *testing.T) {
	dir := vectors.Dir(t, "06-wasm")
	tool, err := exec.LookPath("wasm2wat")
	if err != nil {
		t.Skip("wasm2wat (wabt) isn't installed")
	}
	assembler, err := exec.LookPath("wat2wasm")
	if err != nil {
		t.Skip("wat2wasm (wabt) isn't installed")
	}
	compared := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".wasm" {
			return err
		}
		module, err := os.ReadFile(path)
		if err != nil || len(module) > 1<<20 {
			return err
		}
		if _, err := rewrite.Scan(module, rewrite.DefaultLimits()); err != nil {
			return nil
		}
		for _, flags := range [][]string{{}, {"-f"}, {"--inline-exports", "--inline-imports", "-f"}} {
			text, err := exec.Command(tool, append(flags, path)...).Output()
			if err != nil || len(text) > wat.MaxSource {
				continue // newer than the tool
			}
			if compareText(t, assembler, path, text) {
				compared++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d texts", compared)
	if compared < 100 {
		t.Errorf("compared %d texts: the test proves little", compared)
	}
}

func compareText(t *testing.T, assembler, path string, text []byte) bool {
	t.Helper()
	source, out := filepath.Join(t.TempDir(), "m.wat"), filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(source, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if exec.Command(assembler, source, "-o", out).Run() != nil {
		return false
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wat.Assemble(text)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return false
	}
	if !bytes.Equal(withoutCustom(t, got), withoutCustom(t, want)) {
		t.Errorf("%s: another module", path)
	}
	return true
}
