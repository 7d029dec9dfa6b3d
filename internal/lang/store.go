package lang

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// Store keeps languages in a folder: what they are made of in objects/, each file
// under its content address in hex, and one manifest a language in names/.
// Whatever is read is checked against its address when it is made an image of.
type Store struct {
	dir string
	fs  disk.FS
}

// Open opens a folder, which needn't be there.
func Open(dir string) *Store { return &Store{dir: dir, fs: disk.OS} }

// Language is one that is kept.
type Language struct {
	Name string
	Manifest
	// ID is the content address of the manifest, which names all files.
	ID joulebox.ID

	store *Store
}

// ErrUnknown says that there is no such language.
var ErrUnknown = errors.New("no such language")

const maxManifest = 1 << 20

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func (s *Store) namePath(name string) string { return s.path("names", name+".json") }

func (s *Store) objectPath(id joulebox.ID) string {
	return s.path("objects", hex.EncodeToString(id[:]))
}

// Get finds a language by its name.
func (s *Store) Get(name string) (*Language, error) {
	if !nameForm.MatchString(name) {
		return nil, fmt.Errorf("language %q: want a name of lower-case letters, digits, dots, dashes and underscores", name)
	}
	src, err := disk.Read(s.fs, s.namePath(name), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("language %q: %w", name, ErrUnknown)
	}
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.namePath(name), err)
	}
	canonical, err := m.Canonical()
	return &Language{Name: name, Manifest: m, ID: joulebox.Sum(canonical), store: s}, err
}

// List is every language, by name.
func (s *Store) List() (all []*Language, err error) {
	names, err := s.fs.List(s.path("names"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, file := range names {
		name, ok := strings.CutSuffix(file, ".json")
		if !ok || !nameForm.MatchString(name) {
			continue // left over from an addition that didn't end
		}
		l, err := s.Get(name)
		switch {
		case errors.Is(err, ErrUnknown): // removed since
		case err != nil:
			return nil, err
		default:
			all = append(all, l)
		}
	}
	return all, nil
}

// ForExtension finds the language of a file's extension, ForInterpreter that of a
// program named in a script's first line; nil when there is none.
func (s *Store) ForExtension(ext string) (*Language, error) {
	return s.find(func(l *Language) bool { return slices.Contains(l.Extensions, ext) })
}

// ForInterpreter is described at ForExtension.
func (s *Store) ForInterpreter(program string) (*Language, error) {
	return s.find(func(l *Language) bool { return slices.Contains(l.Interpreters, program) })
}

func (s *Store) find(match func(*Language) bool) (*Language, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, match); i >= 0 {
		return all[i], nil
	}
	return nil, nil
}

// lock keeps two additions or removals apart.
func (s *Store) lock(ctx context.Context) (disk.File, error) {
	for _, d := range []string{"names", "objects"} {
		if err := disk.MakeDirs(s.fs, s.path(d)); err != nil {
			return nil, err
		}
	}
	f, err := s.fs.Open(s.path("lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := f.Lock(ctx, disk.Exclusive); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Remove forgets a language, and the files that no other one has.
func (s *Store) Remove(ctx context.Context, name string) (err error) {
	if _, err := s.Get(name); err != nil && errors.Is(err, ErrUnknown) {
		return err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := s.fs.Remove(s.namePath(name)); err != nil {
		return err
	}
	return s.sweep()
}

// sweep removes what no manifest names: of languages that are gone, and of
// additions that didn't end.
func (s *Store) sweep() error {
	all, err := s.List()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, l := range all {
		for _, f := range l.Files {
			used[filepath.Base(s.objectPath(f.B3))] = true
		}
	}
	objects, err := s.fs.List(s.path("objects"))
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range objects {
		if !used[o] {
			errs = append(errs, s.fs.Remove(s.path("objects", o)))
		}
	}
	return errors.Join(errs...)
}
