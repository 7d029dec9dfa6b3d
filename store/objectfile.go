package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

func (o *DirObjects) put(id joulebox.ID, data []byte) error {
	s, err := o.fs.Stat(o.path(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && o.Known(id) && s.Size == int64(len(data)) {
		return nil
	}
	if err == nil && s.Mode.IsRegular() && s.Size == int64(len(data)) && o.holds(id, data) {
		if s.Mode.Perm() == sealed {
			return nil
		}
		return o.seal(id)
	}
	if err := o.write(id, data); err != nil {
		return err
	}
	return o.seal(id)
}

// holds compares a file with what it should be: one that isn't is written anew.
func (o *DirObjects) holds(id joulebox.ID, data []byte) bool {
	f, err := o.fs.Open(o.path(id), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	part := make([]byte, min(len(data), manyRecords))
	for at := 0; at < len(data); at += len(part) {
		part = part[:min(len(part), len(data)-at)]
		if n, err := f.ReadAt(part, int64(at)); n < len(part) || err != nil && !errors.Is(err, io.EOF) {
			return false
		}
		if !bytes.Equal(part, data[at:][:len(part)]) {
			return false
		}
	}
	return true
}

// write puts the file under its name, durable but for the name.
func (o *DirObjects) write(id joulebox.ID, data []byte) error {
	f, temp, err := o.temporary()
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = o.fs.Rename(temp, o.path(id))
	}
	if err != nil {
		_ = o.fs.Remove(temp)
	}
	return err
}

// temporary makes a file that sweep leaves alone. Between the making and the
// locking, sweep may be faster; then another one is made.
func (o *DirObjects) temporary() (disk.File, string, error) {
	for {
		name := disk.RandomName(filepath.Join(o.dir, tempFolder) + "/")
		f, err := o.fs.Open(name, disk.CreateNew)
		if err != nil {
			return nil, "", err
		}
		locked, err := f.TryLock(disk.Exclusive)
		if err == nil && locked {
			if s, err := f.Stat(); err == nil && s.Links > 0 {
				return f, name, nil
			}
		}
		f.Close()
		if err != nil {
			_ = o.fs.Remove(name)
			return nil, "", err
		}
	}
}

func (o *DirObjects) seal(id joulebox.ID) error { return sealFile(o.fs, o.path(id)) }

// sealFile makes a file's name durable and marks the file so.
func sealFile(fsys disk.FS, path string) error {
	if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := fsys.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chmod(sealed)
}
