package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox/internal/disk"
)

// Dir is a store in a folder:
//
//	version         "joulebox-store 1"
//	objects/        DirObjects
//	log/            DirLog
//
// Files are 0600, objects 0400, folders 0700.
type Dir struct {
	*DirObjects
	*DirLog
}

var _ Store = (*Dir)(nil)

const storeVersion = "joulebox-store 1\n"

// Open opens the store in a folder, and makes one where the folder is empty or
// isn't there. A folder that holds something else is refused. Errors:
// *VersionError, *CorruptError, *FullError, or the disk's.
func Open(dir string) (*Dir, error) { return open(disk.OS, dir, defaultLog) }

func open(fsys disk.FS, dir string, conf logConfig) (*Dir, error) {
	if err := checkVersion(fsys, dir); err != nil {
		return nil, err
	}
	objects, err := openObjects(fsys, filepath.Join(dir, "objects"))
	if err != nil {
		return nil, noRoom("a new store", err)
	}
	log, err := openLog(fsys, filepath.Join(dir, "log"), conf)
	if err != nil {
		return nil, noRoom("a new store", err)
	}
	return &Dir{objects, log}, nil
}

// Close implements Store.
func (d *Dir) Close() error { return errors.Join(d.DirObjects.Close(), d.DirLog.Close()) }

// checkVersion makes the store if there is none. The version is made read-only
// when it and all names above it are durable, like an object.
func checkVersion(fsys disk.FS, dir string) error {
	path := filepath.Join(dir, "version")
	got, err := disk.Read(fsys, path, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return create(fsys, dir, path)
	}
	if err != nil {
		return err
	}
	if string(got) != storeVersion {
		return &VersionError{Path: path, Got: firstLine(got), Want: firstLine([]byte(storeVersion))}
	}
	if s, err := fsys.Stat(path); err != nil || s.Mode.Perm() == sealed {
		return err
	}
	return sealVersion(fsys, dir, path)
}

func sealVersion(fsys disk.FS, dir, path string) error {
	if err := disk.SyncUp(fsys, dir); err != nil {
		return err
	}
	return sealFile(fsys, path)
}

func create(fsys disk.FS, dir, path string) error {
	if err := disk.MakeDirs(fsys, dir); err != nil {
		return err
	}
	lock, err := fsys.Open(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(context.Background(), openWait)
	defer cancel()
	if err := lock.Lock(ctx, disk.Exclusive); err != nil {
		return err
	}
	if _, err := fsys.Stat(path); err == nil {
		return checkVersion(fsys, dir) // another process was first
	}
	if err := onlyOurs(fsys, dir); err != nil {
		return err
	}
	for _, name := range []string{"objects", "log"} {
		if err := mkdir(fsys, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := disk.Replace(fsys, path, path+".new", []byte(storeVersion)); err != nil {
		return err
	}
	return sealVersion(fsys, dir, path)
}

// onlyOurs refuses a folder in which something else lives.
func onlyOurs(fsys disk.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case "lock", "objects", "log", "version.new":
		default:
			return fmt.Errorf("store: %s holds %q and no version: it's no store of ours, give a folder that is empty or new", dir, name)
		}
	}
	return nil
}
