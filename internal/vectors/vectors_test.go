package vectors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder notes what a helper says instead of failing the test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func put(t *testing.T, names ...string) {
	t.Helper()
	root := t.TempDir()
	t.Setenv(EnvDir, root)
	for _, name := range names {
		path := filepath.Join(root, "g", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"HEX":"aBcD","other":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCovered(t *testing.T) {
	put(t, "NOTE.md", "MANIFEST.json", "a.json", "sub/b.json")
	for name, c := range map[string]struct {
		patterns []string
		want     string
	}{
		"all":       {[]string{"*.json", "sub/*.json"}, ""},
		"a new one": {[]string{"a.json"}, "no test judges g/sub/b.json"},
		"one gone":  {[]string{"*.json", "sub/*.json", "c.json"}, "no file of g matches c.json"},
	} {
		r := &recorder{TB: t}
		Covered(r, "g", c.patterns...)
		if got := strings.Join(r.errors, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	r := &recorder{TB: t}
	if AtLeast(r, "cases", 3, 3); len(r.errors) != 0 {
		t.Errorf("3 of 3: %v", r.errors)
	}
	if AtLeast(r, "cases", 2, 3); len(r.errors) != 1 {
		t.Errorf("2 of 3: %v", r.errors)
	}
}

func TestLoad(t *testing.T) {
	put(t, "a.json")
	var v struct{ Hex Hex }
	Load(t, "g", "a.json", &v)
	if string(v.Hex) != "\xab\xcd" {
		t.Errorf("got %x, want abcd", v.Hex)
	}
}

func TestModuleRoot(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "internal", "vectors", "vectors.go")); err != nil {
		t.Errorf("%s is not the root of the module: %v", root, err)
	}
}
