package lang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// Bounds of a language: one is read whole for each run.
const (
	maxFiles = 10_000
	maxBytes = 256 << 20
)

// Add keeps a language under a name, in place of one that had it.
func (s *Store) Add(ctx context.Context, name string, from Source) (l *Language, err error) {
	if !nameForm.MatchString(name) {
		return nil, fmt.Errorf("name: got %q, want lower-case letters, digits, dots, dashes and underscores, a letter first", name)
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := s.conflict(name, from.Recipe.Start); err != nil {
		return nil, err
	}
	m := Manifest{Schema: ManifestSchema, Start: from.Recipe.Start}
	if m.Files, err = s.keepFiles(from); err != nil {
		return nil, err
	}
	canonical, err := m.Canonical()
	if err != nil {
		return nil, err
	}
	// What it is made of is on disk before the name is.
	if err := s.fs.SyncDir(s.path("objects")); err != nil {
		return nil, err
	}
	if err := disk.Replace(s.fs, s.namePath(name), s.path("names", disk.RandomName("new-")), canonical); err != nil {
		return nil, err
	}
	if err := s.sweep(); err != nil {
		return nil, err
	}
	return s.Get(name)
}

// conflict finds another language that claims the same scripts.
func (s *Store) conflict(name string, start Start) error {
	all, err := s.List()
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Name == name {
			continue
		}
		for _, e := range start.Extensions {
			if slices.Contains(l.Extensions, e) {
				return fmt.Errorf("extensions: language %q has %s already; remove it, or leave %s out", l.Name, e, e)
			}
		}
		for _, n := range start.Interpreters {
			if slices.Contains(l.Interpreters, n) {
				return fmt.Errorf("interpreters: language %q has %s already; remove it, or leave %s out", l.Name, n, n)
			}
		}
	}
	return nil
}

func (s *Store) keepFiles(from Source) (files []File, err error) {
	paths, err := from.paths()
	if err != nil {
		return nil, err
	}
	if len(paths) > maxFiles {
		return nil, fmt.Errorf("files: got %d, want at most %d; pack them into one that the interpreter reads", len(paths), maxFiles)
	}
	total := 0
	for _, p := range paths {
		data, err := fs.ReadFile(from.files, p)
		if err != nil {
			return nil, err
		}
		if total += len(data); total > maxBytes {
			return nil, fmt.Errorf("files: got more than %d bytes, want at most that: a language is read whole for each run", maxBytes)
		}
		id := joulebox.Sum(data)
		if err := s.keep(id, data); err != nil {
			return nil, err
		}
		files = append(files, File{Path: p, B3: id, Size: uint64(len(data))})
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

// keep writes one file, unless a whole one is there.
func (s *Store) keep(id joulebox.ID, data []byte) error {
	have, err := disk.Read(s.fs, s.objectPath(id), maxBytes)
	if err == nil && joulebox.Sum(have) == id {
		return nil
	}
	return disk.Place(s.fs, s.objectPath(id), s.path("objects", disk.RandomName("new-")), data)
}
