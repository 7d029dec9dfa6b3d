package joulebox_test

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every command pays for what packages do before main, and a run pays twice, in
// its host process too. Patterns are compiled when they are needed:
// sync.OnceValue keeps them.
func TestNoPatternIsCompiledAtTheStart(t *testing.T) {
	early := regexp.MustCompile(`(?m)^(var \w+|\t\w+) += (regexp|template)\.(Must\w*|New)\(`)
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if at := early.FindIndex(text); at != nil {
			t.Errorf("%s:%d: compiled before main: %s", path, 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]])
		}
		return err
	})
	if err != nil || files < 300 {
		t.Fatalf("looked at %d files, %v", files, err)
	}
}
