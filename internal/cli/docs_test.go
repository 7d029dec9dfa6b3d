package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The pages that are made by the program are what it makes now.
func TestGeneratedPagesAreCurrent(t *testing.T) {
	var manual bytes.Buffer
	if err := writeManual(&manual, newRoot(&console{})); err != nil {
		t.Fatal(err)
	}
	for _, page := range []struct{ file, want, how string }{
		{"../../docs/READINESS.md", readinessPage(), "joulebox doctor --readiness > docs/READINESS.md"},
		{"../../docs/joulebox.1", manual.String(), "joulebox man > docs/joulebox.1"},
	} {
		got, err := os.ReadFile(page.file)
		if err != nil || string(got) != page.want {
			t.Errorf("%s isn't what the program makes (%v): %s", page.file, err, page.how)
		}
	}
}

var (
	heldByTest   = regexp.MustCompile("`([a-z./]+)` (Test[A-Za-z0-9]+)")
	heldByScript = regexp.MustCompile(`script ([a-z]+)`)
)

// Each promise names a test, and each test that is named is there.
func TestPromisesAreHeld(t *testing.T) {
	page, err := os.ReadFile("../../docs/PROMISES.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := heldByTest.FindAllSubmatch(page, -1)
	scripts := heldByScript.FindAllSubmatch(page, -1)
	if len(tests) < 30 || len(scripts) < 5 {
		t.Fatalf("%d tests and %d scripts named: the page isn't what it was", len(tests), len(scripts))
	}
	for _, m := range tests {
		if !hasTest(t, filepath.Join("../..", string(m[1])), string(m[2])) {
			t.Errorf("package %s has no %s", m[1], m[2])
		}
	}
	for _, m := range scripts {
		if _, err := os.Stat("testdata/" + string(m[1]) + ".txtar"); err != nil {
			t.Error(err)
		}
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| ") && !strings.Contains(line, "held by") &&
			!heldByTest.MatchString(line) && !heldByScript.MatchString(line) && !strings.Contains(line, "run.sh") {
			t.Errorf("nothing holds: %s", line)
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if src, err := os.ReadFile(f); err == nil && bytes.Contains(src, []byte("\nfunc "+name+"(")) {
			return true
		}
	}
	return false
}
