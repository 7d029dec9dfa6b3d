package lang

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Source is a language that can be added: a recipe, and the files that it names.
type Source struct {
	Recipe Recipe
	files  fs.FS
	close  func() error
}

// Close gives back what the source holds open.
func (s Source) Close() error { return s.close() }

// FolderSource reads a folder's lang.json. No link leads out of the folder.
func FolderSource(dir string) (s Source, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, err
	}
	s = Source{files: root.FS(), close: root.Close}
	src, err := root.ReadFile(manifestName)
	if err == nil {
		s.Recipe, err = ParseRecipe(src)
	}
	if err != nil {
		_ = root.Close() // what failed matters more
		return s, fmt.Errorf("%s: %w", filepath.Join(dir, manifestName), err)
	}
	return s, nil
}

// FileSource is the interpreter alone, with the files that it reads, for scripts
// with these extensions.
func FileSource(module string, files, extensions []string) (Source, error) {
	named := namedFiles{}
	r := Recipe{Schema: RecipeSchema, Start: Start{
		Version: filepath.Base(module), Module: filepath.Base(module), Extensions: extensions, Args: []string{Script},
	}}
	for _, f := range append([]string{module}, files...) {
		base := filepath.Base(f)
		if named[base] != "" || !validPath(base) {
			return Source{}, fmt.Errorf("%s: want files with names of their own", f)
		}
		named[base] = f
		r.Files = append(r.Files, base)
	}
	return Source{Recipe: r, files: named, close: func() error { return nil }}, r.validate()
}

// namedFiles are files of the host by the name that they get.
type namedFiles map[string]string

// Open opens one of them.
func (n namedFiles) Open(name string) (fs.File, error) {
	path, ok := n[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(path)
}

// Module is the bytes of the interpreter.
func (s Source) Module() ([]byte, error) { return fs.ReadFile(s.files, s.Recipe.Module) }

// paths are all files of the source.
func (s Source) paths() (all []string, err error) {
	for _, named := range append([]string{s.Recipe.Module}, s.Recipe.Files...) {
		err := fs.WalkDir(s.files, named, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir():
				return err
			case !d.Type().IsRegular():
				return fmt.Errorf("%s: got %v, want a regular file", p, d.Type())
			}
			all = append(all, p)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
