package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/joulebox/joulebox/internal/lang"
)

// Bounds of what can be put beside a script.
const (
	maxBeside      = 2000
	maxBesideBytes = 64 << 20
)

// filesBeside reads the files and folders that go into the image beside a script.
// A folder keeps its name; "." is all that is in it.
func filesBeside(paths []string, script lang.Named) (all []lang.Named, err error) {
	total := 0
	for _, p := range paths {
		files, err := besideOne(filepath.Clean(p))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.Path == script.Path && bytes.Equal(f.Data, script.Data) {
				continue
			}
			all = append(all, f)
			total += len(f.Data)
		}
	}
	if len(all) > maxBeside || total > maxBesideBytes {
		return nil, fmt.Errorf("got %d files of %d bytes, want at most %d of %s; they go into the image, and grants reach what is large",
			len(all), total, maxBeside, formatBytes(maxBesideBytes))
	}
	return all, nil
}

func besideOne(p string) (files []lang.Named, err error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		data, err := os.ReadFile(p)
		return []lang.Named{{Path: filepath.Base(p), Data: data}}, err
	}
	prefix := filepath.Base(p)
	if prefix == ".." || filepath.IsAbs(prefix) {
		return nil, fmt.Errorf("%s: want a folder with a name, or the current one", p)
	}
	root, err := os.OpenRoot(p)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case len(files) == maxBeside:
			return fmt.Errorf("%s: got more than %d files", p, maxBeside)
		}
		// A link that leads out of the folder is an error here.
		data, err := root.ReadFile(name)
		files = append(files, lang.Named{Path: path.Join(prefix, name), Data: data})
		return err
	})
	return files, err
}
