package lang_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/lang"
)

const recipe = `{
 "schema": "joulebox.lang-recipe/1", "version": "1", "module": "bin/toy.wasm", "files": ["lib", "LICENSE"],
 "extensions": [".toy"], "interpreters": ["toy"], "args": ["-x", "{script}"], "env": ["A=1"], "needs": {"memory_bytes": 1}
}`

var toyFiles = map[string]string{
	"lang.json": recipe, "bin/toy.wasm": "\x00asm", "lib/a": "a", "lib/sub/b": "b", "LICENSE": "as is", "stray": "not named",
}

func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func with(name, text string) map[string]string {
	files := map[string]string{}
	for n, f := range toyFiles {
		files[n] = f
	}
	files[name] = text
	return files
}

func add(t testing.TB, s *lang.Store, name string, files map[string]string) (*lang.Language, error) {
	t.Helper()
	source, err := lang.FolderSource(folder(t, files))
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return s.Add(t.Context(), name, source)
}

func mustAdd(t testing.TB, s *lang.Store, name string, files map[string]string) *lang.Language {
	t.Helper()
	l, err := add(t, s, name, files)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func objects(t testing.TB, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// An image is what the recipe names, the manifest and the script, and nothing else.
func TestProgramOfAScript(t *testing.T) {
	l := mustAdd(t, lang.Open(t.TempDir()), "toy", toyFiles)
	p, err := l.Program(lang.Named{Path: "hello.toy", Data: []byte("hi")}, []lang.Named{{Path: "pkg/m", Data: []byte("m")}}, []string{"x", "y z"})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range p.Image.Image().Entries {
		paths = append(paths, e.Path)
		if e.Mode != 0o444 {
			t.Errorf("%s: mode %o", e.Path, e.Mode)
		}
	}
	want := []string{
		"/unit/.lang/LICENSE", "/unit/.lang/bin/toy.wasm", "/unit/.lang/lang.json", "/unit/.lang/lib/a", "/unit/.lang/lib/sub/b",
		"/unit/hello.toy", "/unit/pkg/m",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("got %v, want %v", paths, want)
	}
	if want := []string{"/unit/.lang/bin/toy.wasm", "-x", "/unit/hello.toy", "x", "y z"}; !slices.Equal(p.Entrypoint, want) {
		t.Errorf("entrypoint: got %q, want %q", p.Entrypoint, want)
	}
	if !slices.Equal(p.Env, []string{"A=1"}) {
		t.Errorf("env: got %q", p.Env)
	}
	manifest, err := l.Canonical()
	if err != nil || joulebox.Sum(manifest) != l.ID {
		t.Errorf("the language's id isn't its manifest's: %v", err)
	}
}

// Names that a script can't have: they would lie over the language, or outside.
func TestScriptNames(t *testing.T) {
	l := mustAdd(t, lang.Open(t.TempDir()), "toy", toyFiles)
	for _, name := range []string{"", ".", "..", "../x", "/x", "a//b", "a/", ".lang/lang.json", ".lang", "a\xff", "a\x00b"} {
		if _, err := l.Program(lang.Named{Path: name, Data: nil}, nil, nil); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	twice := []lang.Named{{Path: "a", Data: []byte("other")}}
	if _, err := l.Program(lang.Named{Path: "a"}, twice, nil); err == nil {
		t.Error("two files of one name are accepted")
	}
}

// What was kept is found again, by name, extension and first line; adding it again
// changes nothing, another version takes its place, and no file is left behind.
func TestStoreKeepsAndForgets(t *testing.T) {
	dir := t.TempDir()
	s := lang.Open(dir)
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Fatalf("an empty store: %v, %v", all, err)
	}
	first := mustAdd(t, s, "toy", toyFiles)
	if again := mustAdd(t, s, "toy", toyFiles); again.ID != first.ID {
		t.Error("the same language has another id")
	}
	other := mustAdd(t, s, "other", with("lang.json", strings.NewReplacer(".toy", ".oth", `["toy"]`, `[]`).Replace(recipe)))
	if got := objects(t, dir); got != 4 {
		t.Errorf("got %d objects, want 4, each file once", got)
	}
	for _, find := range []func() (*lang.Language, error){
		func() (*lang.Language, error) { return s.Get("toy") },
		func() (*lang.Language, error) { return s.ForExtension(".toy") },
		func() (*lang.Language, error) { return s.ForInterpreter("toy") },
	} {
		if l, err := find(); err != nil || l == nil || l.ID != first.ID {
			t.Errorf("got %+v, %v", l, err)
		}
	}
	if l, err := s.ForExtension(".none"); l != nil || err != nil {
		t.Errorf("got %v, %v for an extension that none has", l, err)
	}
	changed := mustAdd(t, s, "toy", with("lib/a", "changed"))
	if changed.ID == first.ID || changed.ID == other.ID {
		t.Error("a changed file isn't in the id")
	}
	for _, name := range []string{"toy", "other"} {
		if err := s.Remove(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if err := s.Remove(t.Context(), "toy"); !errors.Is(err, lang.ErrUnknown) {
		t.Errorf("removed twice: %v", err)
	}
	if got := objects(t, dir); got != 0 {
		t.Errorf("%d objects are left", got)
	}
}

// Each refusal names what is wrong.
func TestRecipesRefused(t *testing.T) {
	taken := lang.Open(t.TempDir())
	mustAdd(t, taken, "taken", toyFiles)
	for _, c := range []struct{ old, new, want string }{
		{`recipe/1`, `recipe/2`, "schema"},
		{`"version": "1", `, ``, "version"},
		{`"version": "1"`, `"version": null`, "null"},
		{`"needs"`, `"more": 1, "needs"`, "more"},
		{`bin/toy.wasm`, `bin/none.wasm`, "bin/none.wasm"},
		{`bin/toy.wasm`, `LICENSE`, "module"},
		{`bin/toy.wasm`, `../toy.wasm`, "module"},
		{`"lib"`, `"../lib"`, "files[0]"},
		{`"lib"`, `"/lib"`, "files[0]"},
		{`"lib"`, `"none"`, "none"},
		{`"lib"`, `"lang.json"`, "lang.json"},
		{`".toy"`, `"toy"`, "extensions[0]"},
		{`".toy"`, `".wasm"`, "extensions[0]"},
		{`".toy"`, `"."`, "extensions[0]"},
		{`["toy"]`, `["a/b"]`, "interpreters[0]"},
		{`"{script}"`, `"script"`, "args"},
		{`"-x"`, `"{script}"`, "args"},
		{`"A=1"`, `"A"`, "env[0]"},
		{`"A=1"`, `"A=1", "A=2"`, "env[1]"},
		{`"A=1"`, `"A=\u0000"`, "NUL"},
		{`"A=1"`, `"A=1"`, `language "taken" has .toy already`},
		{`[".toy"]`, `[]`, `language "taken" has toy already`},
	} {
		text := strings.Replace(recipe, c.old, c.new, 1)
		if text == recipe && c.old != c.new {
			t.Fatalf("%s isn't in the recipe", c.old)
		}
		s := lang.Open(t.TempDir())
		if strings.Contains(c.want, "already") {
			s = taken
		}
		if _, err := add(t, s, "new", with("lang.json", text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.new, err, c.want)
		}
	}
	for _, name := range []string{"", "Toy", "a/b", "../a", ".a", "-a", strings.Repeat("a", 33)} {
		if _, err := add(t, lang.Open(t.TempDir()), name, toyFiles); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
	if _, err := lang.FolderSource(folder(t, map[string]string{"a": ""})); err == nil || !strings.Contains(err.Error(), "lang.json") {
		t.Errorf("without a recipe: %v", err)
	}
}

// No link leads a recipe out of its folder.
func TestLinksOutOfARecipe(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "hush"})
	for _, name := range []string{"LICENSE", "lib/a"} {
		dir := folder(t, toyFiles)
		if err := errors.Join(os.Remove(filepath.Join(dir, name)), os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
		source, err := lang.FolderSource(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lang.Open(t.TempDir()).Add(t.Context(), "toy", source); err == nil {
			t.Errorf("%s: a link out of the folder is followed", name)
		}
		source.Close()
	}
}

// What was changed, cut or taken away behind the store's back is never run.
func TestDamageIsNoticed(t *testing.T) {
	for what, damage := range map[string]func(string) error{
		"changed": func(p string) error { return os.WriteFile(p, []byte("other"), 0o600) },
		"cut":     func(p string) error { return os.Truncate(p, 0) },
		"gone":    os.Remove,
		"a link": func(p string) error {
			return errors.Join(os.Rename(p, p+".x"), os.Symlink(p+".x", p))
		},
	} {
		dir := t.TempDir()
		s := lang.Open(dir)
		l := mustAdd(t, s, "toy", toyFiles)
		entries, err := os.ReadDir(filepath.Join(dir, "objects"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			p := filepath.Join(dir, "objects", e.Name())
			was, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(p); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Program(lang.Named{Path: "a"}, nil, nil); err == nil {
				t.Errorf("%s: it runs", what)
			}
			if err := errors.Join(os.RemoveAll(p), os.WriteFile(p, was, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		// Adding it again mends it.
		for _, e := range entries {
			if err := os.WriteFile(filepath.Join(dir, "objects", e.Name()), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := mustAdd(t, s, "toy", toyFiles).Program(lang.Named{Path: "a"}, nil, nil); err != nil {
			t.Errorf("%s: added again: %v", what, err)
		}
	}
}

// Several processes may add and remove at once: whatever is listed is whole.
func TestAddedAndRemovedAtOnce(t *testing.T) {
	s := lang.Open(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		text := strings.NewReplacer(".toy", "."+name, `["toy"]`, `[]`).Replace(recipe)
		source, err := lang.FolderSource(folder(t, with("lang.json", text)))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer source.Close()
			for range 15 {
				l, err := s.Add(ctx, name, source)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := l.Program(lang.Named{Path: "x"}, nil, nil); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if err := s.Remove(ctx, name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// FuzzManifest: what is read as a manifest is written again as the same bytes.
func FuzzManifest(f *testing.F) {
	l := mustAdd(f, lang.Open(f.TempDir()), "toy", toyFiles)
	canonical, err := l.Canonical()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(canonical)
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := lang.ParseManifest(src)
		if err != nil {
			return
		}
		first, err := m.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := lang.ParseManifest(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Canonical(); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s became %s (%v)", first, second, err)
		}
	})
}
