package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/disk"
	"github.com/joulebox/joulebox/unit"
)

// Named is a file that goes into an image: a script, or what it imports.
type Named struct {
	Path string // relative to the script's folder, canonical
	Data []byte
}

// Program is what a script becomes: an image, and how it is called.
type Program struct {
	Image      *host.Tree
	Entrypoint []string
	Env        []string
}

// Program makes the image of a script and the files beside it.
func (l *Language) Program(script Named, beside []Named, args []string) (Program, error) {
	b := imageBuilder{contents: map[joulebox.ID]host.Content{}}
	for _, f := range append([]Named{script}, beside...) {
		if !validPath(f.Path) {
			return Program{}, fmt.Errorf("%q: want a name in UTF-8, within the script's folder", f.Path)
		}
		b.add(path.Join(scriptRoot, f.Path), f.Data)
	}
	if err := b.addLanguage(l); err != nil {
		return Program{}, err
	}
	image, err := unit.NewTree(b.entries)
	if err != nil {
		return Program{}, err
	}
	tree, err := host.NewTree(image, b.contents)
	if err != nil {
		return Program{}, fmt.Errorf("language %s: %w; add it again", l.Name, err)
	}
	return Program{Image: tree, Entrypoint: l.entrypoint(script.Path, args), Env: l.Env}, nil
}

func (l *Language) entrypoint(script string, args []string) []string {
	list := []string{path.Join(languageRoot, l.Module)}
	for _, a := range l.Args {
		if a == Script {
			a = path.Join(scriptRoot, script)
		}
		list = append(list, a)
	}
	return append(list, args...)
}

// ModuleBytes reads the interpreter.
func (l *Language) ModuleBytes() ([]byte, joulebox.ID, error) {
	f, _ := l.file(l.Module)
	data, err := l.read(f)
	return data, f.B3, err
}

// read returns a file as it is on disk; whoever makes an image of it checks it.
func (l *Language) read(f File) ([]byte, error) {
	data, err := disk.Read(l.store.fs, l.store.objectPath(f.B3), maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("language %s: %s is missing at %s; add it again", l.Name, f.Path, filepath.Base(l.store.objectPath(f.B3)))
	}
	return data, err
}

type imageBuilder struct {
	entries  []unit.Entry
	contents map[joulebox.ID]host.Content
}

func (b *imageBuilder) add(p string, data []byte) { b.addKnown(p, joulebox.Sum(data), data) }

func (b *imageBuilder) addKnown(p string, id joulebox.ID, data []byte) {
	b.entries = append(b.entries, unit.Entry{Path: p, Type: unit.File, Mode: fileMode, B3: id})
	b.contents[id] = host.Bytes(data)
}

// addLanguage adds the interpreter's files by the addresses that its manifest
// has for them, and the manifest.
func (b *imageBuilder) addLanguage(l *Language) error {
	for _, f := range l.Files {
		data, err := l.read(f)
		if err != nil {
			return err
		}
		b.addKnown(path.Join(languageRoot, f.Path), f.B3, data)
	}
	manifest, err := l.Canonical()
	b.add(path.Join(languageRoot, manifestName), manifest)
	return err
}
