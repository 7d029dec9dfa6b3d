package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox/supervisor"
)

// outputs are the files that a run was asked to leave. They are begun before the
// unit starts: a run whose record can't be written is not worth beginning.
type outputs struct {
	path string
	file *os.File // beside path, until it is whole
}

func (f *runFlags) outputs() (*outputs, error) {
	o := &outputs{path: f.bundle}
	if f.bundle == "" {
		return o, nil
	}
	file, err := beside(f.bundle)
	if err != nil {
		return nil, fmt.Errorf("--bundle: %w", err)
	}
	o.file = file
	return o, nil
}

// beside makes a file that will take path's place.
func beside(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", path)
	}
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// commit writes the bundle, with the journal if there is one. A journal is for
// this user alone (§8).
func (o *outputs) commit(r *supervisor.Record) error {
	if o.file == nil {
		return nil
	}
	b, mode := r.Bundle, public
	if r.Journal != nil {
		b, mode = b.WithJournal(r.Journal), private
	}
	text := bundleText(b)
	f := o.file
	o.file = nil
	return replace(f, o.path, mode, func(w *os.File) error {
		_, err := w.Write(text)
		return err
	})
}

func (o *outputs) discard() {
	if o.file != nil {
		_ = o.file.Close()
		_ = os.Remove(o.file.Name())
	}
}

// writeFile writes a whole file or leaves what was there.
func writeFile(path string, write func(*os.File) error) error {
	f, err := beside(path)
	if err != nil {
		return err
	}
	return replace(f, path, public, write)
}

// Modes of new files. Records are no secret, and get what any new file would.
const (
	public  os.FileMode = 0o644
	private os.FileMode = 0o600
)

// replace fills f and gives it its name.
func replace(f *os.File, path string, mode os.FileMode, write func(*os.File) error) (err error) {
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
