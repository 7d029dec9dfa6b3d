package cli

import (
	"bytes"
	"os"
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
