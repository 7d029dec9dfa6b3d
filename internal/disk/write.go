package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MakeDirs makes a folder and its missing parents. They aren't durable before
// SyncUp: a folder that is seen may have been made by a process that was killed
// before it could see to that.
func MakeDirs(fsys FS, name string) error {
	s, err := fsys.Stat(name)
	switch {
	case err == nil && s.Mode&fs.ModeSymlink != 0:
		return fmt.Errorf("disk: %s is a symbolic link, want a folder", name)
	case err == nil && !s.Mode.IsDir():
		return fmt.Errorf("disk: %s is not a folder", name)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(name)
	if parent == name {
		return err
	}
	if err := makeParents(fsys, parent); err != nil {
		return err
	}
	if err := fsys.Mkdir(name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// makeParents lets a parent be a link to a folder: people move ~/.local about.
func makeParents(fsys FS, name string) error {
	s, err := fsys.Stat(name)
	if err == nil && s.Mode&fs.ModeSymlink != 0 {
		return nil
	}
	return MakeDirs(fsys, name)
}

// SyncUp makes a folder's own name durable, and those of the folders above. One
// that we may not read we didn't make either.
func SyncUp(fsys FS, name string) error {
	for parent := filepath.Dir(name); parent != name; name, parent = parent, filepath.Dir(parent) {
		s, err := fsys.Stat(parent)
		if err == nil && s.Mode&fs.ModeSymlink == 0 {
			err = fsys.SyncDir(parent)
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// WriteNew makes a file with data, durable but for its name in the folder.
func WriteNew(fsys FS, name string, data []byte) error {
	f, err := fsys.Open(name, CreateNew)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = fsys.Remove(name) // what failed matters more
	}
	return err
}

// Replace makes name hold data, at once or not at all, and durably. temp is the
// name of a file in the same folder that no one else uses meanwhile.
func Replace(fsys FS, name, temp string, data []byte) error {
	if err := Place(fsys, name, temp, data); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// Place is Replace with the name not yet durable.
func Place(fsys FS, name, temp string, data []byte) error {
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := WriteNew(fsys, temp, data); err != nil {
		return err
	}
	err := fsys.Rename(temp, name)
	if err != nil {
		_ = fsys.Remove(temp) // what failed matters more
	}
	return err
}

// Read returns a whole regular file of at most limit bytes.
func Read(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFile(f, name, limit)
}

// ReadFile returns all of an open regular file of at most limit bytes.
func ReadFile(f File, name string, limit int64) ([]byte, error) {
	s, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !s.Mode.IsRegular() {
		return nil, fmt.Errorf("disk: %s: got %v, want a regular file", name, s.Mode)
	}
	if s.Size > limit {
		return nil, fmt.Errorf("disk: %s: got %d bytes, want at most %d", name, s.Size, limit)
	}
	data := make([]byte, s.Size)
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return nil, fmt.Errorf("disk: %s: read %d of %d bytes: %w", name, n, len(data), err)
	}
	return data, nil
}

// RandomName is a file name that is not used yet.
func RandomName(prefix string) string {
	var b [12]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}
