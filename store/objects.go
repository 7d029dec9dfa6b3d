package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// DirObjects keeps objects as files in a folder: the digest in hex, whose first
// digit is a folder of its own. (The id's own text has two cases, which
// some file systems don't tell apart.) An object is written elsewhere, synced,
// renamed, and its folder synced; it's made read-only when all of that is done,
// so that whoever finds it read-only knows that it's durable.
type DirObjects struct {
	fs  disk.FS
	dir string

	mu    sync.Mutex
	known map[joulebox.ID]struct{} // seen to be durable by this process
	done  bool
}

var _ Objects = (*DirObjects)(nil)

const (
	tempFolder             = "tmp"
	sealed     fs.FileMode = 0o400
	// maxKnown bounds the memory of what is known; the rest costs a look.
	maxKnown = 1 << 16
)

// OpenObjects opens the objects in a folder, and makes the folder if there is none.
func OpenObjects(dir string) (*DirObjects, error) {
	o, err := openObjects(disk.OS, dir)
	if err != nil {
		return nil, err
	}
	return o, disk.SyncUp(disk.OS, dir)
}

func openObjects(fsys disk.FS, dir string) (*DirObjects, error) {
	o := &DirObjects{fs: fsys, dir: dir, known: map[joulebox.ID]struct{}{}}
	_, err := fsys.Stat(filepath.Join(dir, tempFolder))
	if errors.Is(err, fs.ErrNotExist) {
		err = o.create()
	}
	if err != nil {
		return nil, err
	}
	return o, o.sweep()
}

// create makes all folders at once, the one for unfinished files last: a folder
// that is there is durable.
func (o *DirObjects) create() error {
	if err := disk.MakeDirs(o.fs, o.dir); err != nil {
		return err
	}
	for _, digit := range "0123456789abcdef" {
		if err := mkdir(o.fs, filepath.Join(o.dir, string(digit))); err != nil {
			return err
		}
	}
	if err := o.fs.SyncDir(o.dir); err != nil {
		return err
	}
	// Not synced: if it's lost, all of this is done again.
	return mkdir(o.fs, filepath.Join(o.dir, tempFolder))
}

func mkdir(fsys disk.FS, name string) error {
	if err := fsys.Mkdir(name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// sweep removes unfinished files whose writer is gone: a living one holds a lock.
func (o *DirObjects) sweep() error {
	folder := filepath.Join(o.dir, tempFolder)
	names, err := o.fs.List(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		f, err := o.fs.Open(path, os.O_RDONLY)
		if err != nil {
			continue // finished or swept by another process
		}
		if free, err := f.TryLock(disk.Exclusive); free && err == nil {
			_ = o.fs.Remove(path)
		}
		f.Close()
	}
	return nil
}

func (o *DirObjects) path(id joulebox.ID) string {
	name := hex.EncodeToString(id[:])
	return filepath.Join(o.dir, name[:1], name[1:])
}

// Close ends the use of the objects. Nothing is left open before.
func (o *DirObjects) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done = true
	return nil
}

func (o *DirObjects) usable(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return ErrClosed
	}
	return ctx.Err()
}

// Has implements Objects.
func (o *DirObjects) Has(ctx context.Context, id joulebox.ID) (bool, error) {
	if err := o.usable(ctx); err != nil {
		return false, err
	}
	s, err := o.fs.Stat(o.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && s.Mode.IsRegular(), err
}

// Get implements Objects.
func (o *DirObjects) Get(ctx context.Context, id joulebox.ID) ([]byte, error) {
	if err := o.usable(ctx); err != nil {
		return nil, err
	}
	data, err := disk.Read(o.fs, o.path(id), 1<<62)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, objectNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	if got := joulebox.Sum(data); got != id {
		o.forget(id)
		return nil, &CorruptError{What: "object " + id.String(), Reason: fmt.Sprintf("its %d bytes have the address %s: put it again to mend it", len(data), got)}
	}
	return data, nil
}

// Put implements Objects. It hashes data each time; a caller that has the
// address already asks Has first.
func (o *DirObjects) Put(ctx context.Context, data []byte) (joulebox.ID, error) {
	id := joulebox.Sum(data)
	if err := o.usable(ctx); err != nil {
		return joulebox.ID{}, err
	}
	if err := o.put(id, data); err != nil {
		return joulebox.ID{}, noRoom("an object", err)
	}
	o.remember(id)
	return id, nil
}

// Known reports that this process has put an object, or found it durable, and not
// found it spoiled since.
func (o *DirObjects) Known(id joulebox.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.known[id]
	return ok
}

func (o *DirObjects) remember(id joulebox.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= maxKnown {
		clear(o.known)
	}
	o.known[id] = struct{}{}
}

func (o *DirObjects) forget(id joulebox.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, id)
}
