package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
	"golang.org/x/sys/unix"
)

// check looks whether each file is in the state in which its address was taken. If
// one isn't, or the machine was started since, all are read anew: somebody else may
// have had the disk, or the last writes may have been lost.
func (h *held) check(ctx context.Context, id joulebox.ID, rehash bool) error {
	if err := h.load(id); err != nil {
		return err
	}
	if !rehash && h.asRecorded() {
		return nil
	}
	lock, err := h.store.lockFile(ctx, "check", id)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := h.load(id); err != nil { // another process may have done it
		return err
	}
	if !rehash && h.asRecorded() {
		return nil
	}
	now, err := h.readAll(ctx)
	if err != nil {
		return err
	}
	if now.id != id {
		return errChanged
	}
	now.left = h.record.left
	h.record = now
	return h.store.write(filepath.Join(h.path, recordName), now.encode())
}

func (h *held) load(id joulebox.ID) error {
	b, err := os.ReadFile(filepath.Join(h.path, recordName))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errRecord
		}
		return err
	}
	if h.record, err = parseRecord(b); err == nil && h.record.id != id {
		err = errRecord
	}
	return err
}

// readAll takes the record of what is on the disk now.
func (h *held) readAll(ctx context.Context) (*record, error) {
	dir, err := openDir(unix.AT_FDCWD, filepath.Join(h.path, treeName))
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return readTree(ctx, dir)
}

// unbounded is for trees that were held against limits when they were made.
var unbounded = Limits{Bytes: math.MaxInt64, FileBytes: math.MaxInt64, Entries: math.MaxInt64, Depth: maxPath}

func readTree(ctx context.Context, dir int) (*record, error) {
	boot := bootID()
	s, err := scan(ctx, dir, newBudget(unbounded), nil)
	if err != nil {
		return nil, errors.Join(errChanged, err)
	}
	if err := hashAll(ctx, dir, s.found); err != nil {
		return nil, err
	}
	r, err := newRecord(s.found)
	if err != nil {
		return nil, errors.Join(errChanged, err)
	}
	r.boot, r.device = boot, s.device
	return r, nil
}

// asRecorded compares the states, on all processors. A name that was added or
// removed shows in its folder.
func (h *held) asRecorded() bool {
	r := h.record
	if r.boot == "" || r.boot != bootID() {
		return false
	}
	fd, err := openDir(unix.AT_FDCWD, filepath.Join(h.path, treeName))
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var different atomic.Bool
	var workers sync.WaitGroup
	n := min(runtime.GOMAXPROCS(0), 1+len(r.entries)/512)
	for w := range n {
		part := func(i int) int { return len(r.entries) * i / n }
		workers.Go(func() {
			for i := part(w); i < part(w+1) && !different.Load(); i++ {
				if !isAsRecorded(fd, &r.entries[i], r.states[i], r.device) {
					different.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return !different.Load()
}

var typeBits = map[string]uint32{unit.Dir: unix.S_IFDIR, unit.File: unix.S_IFREG, unit.Link: unix.S_IFLNK}

func isAsRecorded(dir int, e *unit.Entry, want state, device uint64) bool {
	path := "."
	if e.Path != "/" {
		path = e.Path[1:]
	}
	var t unix.Stat_t
	if err := unix.Fstatat(dir, path, &t, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false
	}
	// A link's mode is nobody's choice.
	mode := t.Mode == typeBits[e.Type]|e.Mode
	return mode && t.Dev == device && stateOf(&t) == want
}
