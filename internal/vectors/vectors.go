// Package vectors finds the public test vectors that this project is judged
// with. They are not part of the module: tests that need them skip, by name,
// where they are missing.
package vectors

import (
	"encoding/hex"
	"encoding/json/v2"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// EnvDir names the folder that holds the groups ("01-jcs", …).
const EnvDir = "JOULEBOX_VECTORS"

// Dir is the folder of one group. It looks at $JOULEBOX_VECTORS, then beside the
// module, and skips the test when neither holds the group. A path that was set
// and lacks the group is a failure: somebody asked for it.
func Dir(t testing.TB, group string) string {
	t.Helper()
	if set := os.Getenv(EnvDir); set != "" {
		dir := filepath.Join(set, group)
		if !isDir(dir) {
			t.Fatalf("vectors: $%s is %q, which has no folder %q", EnvDir, set, group)
		}
		return dir
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	dir := filepath.Join(root, "..", "shared", "vectors", group)
	if !isDir(dir) {
		t.Skipf("vectors: group %s is not here; set $%s to the folder that holds it", group, EnvDir)
	}
	return dir
}

// Read returns the bytes of one file of a group. A missing file is a failure.
func Read(t testing.TB, group, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Dir(t, group), filepath.FromSlash(name)))
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	return b
}

// Load reads one JSON file of a group into v. Unknown members are fine, as the
// files carry more than each test needs, and names match in any case.
func Load(t testing.TB, group, name string, v any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, group, name), v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("vectors: %s/%s: %v", group, name, err)
	}
}

// Hex is a byte string that the files spell in hexadecimal, either case.
type Hex []byte

// UnmarshalText reads hexadecimal.
func (h *Hex) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	*h = b
	return err
}

// AtLeast fails a test that judged fewer cases than it knows to exist, so that a
// pattern that matches nothing is never a pass.
func AtLeast(t testing.TB, what string, got, want int) {
	t.Helper()
	if got < want {
		t.Errorf("vectors: judged %d %s, want at least %d", got, what, want)
	}
	t.Logf("judged %d %s", got, what)
}

// Covered fails a test when a file of a group matches no pattern of path.Match,
// so that a file added to the group is noticed by the tests that should judge
// it, and when a pattern matches nothing. Notes and manifests are left out.
func Covered(t testing.TB, group string, patterns ...string) {
	t.Helper()
	root, used := Dir(t, group), map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "NOTE.md" || name == "MANIFEST.json" {
			return err
		}
		for _, p := range patterns {
			if ok, err := path.Match(p, name); err != nil {
				return err
			} else if ok {
				used[p] = true
				return nil
			}
		}
		t.Errorf("vectors: no test judges %s/%s", group, name)
		return nil
	})
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	for _, p := range patterns {
		if !used[p] {
			t.Errorf("vectors: no file of %s matches %s", group, p)
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// moduleRoot walks up from the test's folder to the go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return dir, os.ErrNotExist
		}
	}
}
