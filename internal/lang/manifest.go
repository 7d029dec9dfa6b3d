package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// The schemas of a kept language, and of the recipe that one is added by.
const (
	ManifestSchema = "joulebox.lang/1"
	RecipeSchema   = "joulebox.lang-recipe/1"
)

// Script is where the script's path goes among a language's arguments.
const Script = "{script}"

// Start says how scripts are recognised and run.
type Start struct {
	// Version is for people.
	Version string `json:"version"`
	// Module is the interpreter among the files, by its path.
	Module string `json:"module"`
	// Extensions are those of script files, each with its dot.
	Extensions []string `json:"extensions"`
	// Interpreters are the programs that a script may name in its first line.
	Interpreters []string `json:"interpreters"`
	// Args are handed to the interpreter before the script's own, with Script for
	// the script's path.
	Args []string `json:"args"`
	// Env is "NAME=value" for the interpreter.
	Env []string `json:"env"`
	// Needs is what no script runs without. It is a demand, and grants nothing.
	Needs Needs `json:"needs"`
}

// Needs are the least grants that an interpreter starts with.
type Needs struct {
	MemoryBytes uint64                 `json:"memory_bytes"`
	Devices     []joulebox.DeviceClass `json:"devices,omitempty"` // beyond Cpu
}

// Recipe is what a language is added by: lang.json of a folder, beside the files.
type Recipe struct {
	Schema string `json:"schema"`
	Start
	// Files are those of the folder beside the module; a folder is all that is in it.
	Files []string `json:"files"`
}

// Manifest is a language as it is kept. Its canonical form (§4) is addressed, and
// is a file of every image that the language is part of.
type Manifest struct {
	Schema string `json:"schema"`
	Start
	Files []File `json:"files"` // sorted by path
}

// File is one file of a language.
type File struct {
	Path string      `json:"path"` // relative, canonical
	B3   joulebox.ID `json:"b3"`
	Size uint64      `json:"size"`
}

// ParseRecipe reads a recipe; its members are closed.
func ParseRecipe(src []byte) (r Recipe, err error) {
	if err = jcs.Unmarshal(src, &r); err != nil {
		return r, err
	}
	if r.Schema != RecipeSchema {
		return r, fmt.Errorf("schema: got %q, want %q", r.Schema, RecipeSchema)
	}
	for i, f := range r.Files {
		if !validPath(f) {
			return r, fmt.Errorf("files[%d]: got %q, want a path within the folder", i, f)
		}
	}
	return r, r.Start.validate()
}

// ParseManifest reads a kept manifest.
func ParseManifest(src []byte) (m Manifest, err error) {
	if err = jcs.Unmarshal(src, &m); err != nil {
		return m, err
	}
	return m, m.validate()
}

// Canonical is the JCS form that the manifest's id is taken over.
func (m Manifest) Canonical() ([]byte, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	return jcs.Marshal(m)
}

func (m Manifest) validate() error {
	if m.Schema != ManifestSchema {
		return fmt.Errorf("schema: got %q, want %q", m.Schema, ManifestSchema)
	}
	for i, f := range m.Files {
		switch {
		case !validPath(f.Path) || f.Path == manifestName:
			return fmt.Errorf("files[%d].path: got %q, want a relative path other than %s", i, f.Path, manifestName)
		case i > 0 && f.Path <= m.Files[i-1].Path:
			return fmt.Errorf("files[%d].path: got %q after %q, want each once, sorted", i, f.Path, m.Files[i-1].Path)
		case f.B3.IsZero():
			return fmt.Errorf("files[%d].b3: missing", i)
		}
	}
	if _, ok := m.file(m.Module); !ok {
		return fmt.Errorf("module: %q isn't among the files", m.Module)
	}
	return m.Start.validate()
}

func (m Manifest) file(p string) (File, bool) {
	i, ok := slices.BinarySearchFunc(m.Files, p, func(f File, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return m.Files[i], true
}

// validPath takes slash-separated relative paths in canonical form.
func validPath(p string) bool { return fs.ValidPath(p) && p != "." && !strings.ContainsRune(p, 0) }

// form is a regular expression that is compiled when it is first asked: compiling
// it at the start would hold up every run of every program.
type form func() *regexp.Regexp

func newForm(expr string) form {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// MatchString reports whether s has the form.
func (f form) MatchString(s string) bool { return f().MatchString(s) }

var (
	extensionForm   = newForm(`^\.[A-Za-z0-9_+-]{1,16}$`)
	interpreterForm = newForm(`^[A-Za-z0-9._+-]{1,32}$`)
	nameForm        = newForm(`^[a-z][a-z0-9._-]{0,31}$`)
)

func (s Start) validate() error {
	if !validPath(s.Module) || path.Ext(s.Module) != ".wasm" {
		return fmt.Errorf("module: got %q, want a path that ends in .wasm", s.Module)
	}
	if i := slices.IndexFunc(s.Extensions, func(e string) bool { return !extensionForm.MatchString(e) || e == ".wasm" }); i >= 0 {
		return fmt.Errorf("extensions[%d]: got %q, want an extension with its dot, like .py", i, s.Extensions[i])
	}
	if i := slices.IndexFunc(s.Interpreters, func(n string) bool { return !interpreterForm.MatchString(n) }); i >= 0 {
		return fmt.Errorf("interpreters[%d]: got %q, want the name of a program, like python3", i, s.Interpreters[i])
	}
	if n := len(slices.DeleteFunc(slices.Clone(s.Args), func(a string) bool { return a != Script })); n != 1 {
		return fmt.Errorf("args: got %d times %s, want it once: it stands for the script's path", n, Script)
	}
	return s.validateEnv()
}

func (s Start) validateEnv() error {
	seen := map[string]bool{}
	for i, e := range s.Env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" || seen[name] {
			return fmt.Errorf("env[%d]: got %q, want each variable once, as NAME=value", i, e)
		}
		seen[name] = true
	}
	if slices.ContainsFunc(slices.Concat(s.Args, s.Env), func(t string) bool { return strings.ContainsRune(t, 0) }) {
		return errors.New("args and env: got a NUL byte")
	}
	return nil
}
