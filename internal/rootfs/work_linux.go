package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/disk"
	"github.com/joulebox/joulebox/unit"
)

// work is a tree under way, in a folder that is removed if it comes to nothing.
type work struct {
	path   string
	lock   disk.File // exclusive
	stages []int
}

// begin makes a folder to work in. Who sweeps takes a folder without a lock for
// one that was left behind, so it is only ours once the lock is and it is still there.
func (s *store) begin(ctx context.Context) (*work, error) {
	for {
		path, err := os.MkdirTemp(s.join(tmpDir), "tree-*")
		if err != nil {
			return nil, err
		}
		name := filepath.Join(path, lockName)
		f, err := disk.OS.Open(name, disk.CreateNew)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := f.Lock(ctx, disk.Exclusive); err != nil {
			f.Close()
			return nil, err
		}
		if there, err := stillThere(f, name); there && err == nil {
			return &work{path: path, lock: f}, nil
		}
		f.Close()
	}
}

// stage makes n folders for the files of layers.
func (w *work) stage(n int) error {
	for i := range n {
		fd, err := makeDir(unix.AT_FDCWD, filepath.Join(w.path, "stage-"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		w.stages = append(w.stages, fd)
	}
	return nil
}

// unstage removes what isn't in the tree. It comes before the states are taken:
// a file that loses a name changes.
func (w *work) unstage() error {
	var errs []error
	for i, fd := range w.stages {
		unix.Close(fd)
		errs = append(errs, os.RemoveAll(filepath.Join(w.path, "stage-"+strconv.Itoa(i))))
	}
	w.stages = nil
	return errors.Join(errs...)
}

// abandon is for work that came to nothing.
func (w *work) abandon() error {
	return errors.Join(w.unstage(), removeTree(w.path), w.lock.Close())
}

// write puts the merged tree on the disk and takes its record.
func (w *work) write(ctx context.Context, root *node) (*record, error) {
	want := root.entries()
	dir, err := makeDir(unix.AT_FDCWD, filepath.Join(w.path, treeName))
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	b := builder{stages: w.stages, root: asRoot()}
	if err := b.build(dir, root); err != nil {
		return nil, err
	}
	if err := w.unstage(); err != nil {
		return nil, err
	}
	boot := bootID()
	s, err := scan(ctx, dir, newBudget(unbounded), nil)
	if err != nil {
		return nil, err
	}
	if err := adopt(s.found, want); err != nil {
		return nil, err
	}
	r, err := newRecord(s.found)
	if err != nil {
		return nil, err
	}
	r.boot, r.device = boot, s.device
	return r, nil
}

// adopt gives the entries on the disk the addresses that were taken when they were
// written. The disk must have kept all names and modes: one that folds the case of
// names, say, doesn't.
func adopt(have []found, want []unit.Entry) error {
	slices.SortFunc(want, func(a, b unit.Entry) int { return compare(a.Path, b.Path) })
	if len(have) != len(want) {
		return fmt.Errorf("store: the file system kept %d of %d names; use another for the store", len(have), len(want))
	}
	for i := range want {
		got := have[i].Entry
		got.B3 = want[i].B3
		if got != want[i] {
			return fmt.Errorf("store: %q: got %s with mode %#o on the disk, want %s with mode %#o; use another file system for the store", want[i].Path, got.Type, got.Mode, want[i].Type, want[i].Mode)
		}
		have[i].B3 = want[i].B3
	}
	return nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// finish moves the tree to its place and holds it there. Another process may have
// been faster; then its tree, looked over, is as good.
func (s *store) finish(ctx context.Context, w *work, r *record) (*held, error) {
	if err := s.write(filepath.Join(w.path, recordName), r.encode()); err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	for {
		path := s.treeDir(r.id)
		err := unix.Renameat2(unix.AT_FDCWD, w.path, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
		if err == nil {
			w.path = path
			return s.keep(ctx, w, r)
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, errors.Join(named("rename", path, err), w.abandon())
		}
		h, err := s.hold(ctx, r.id, false)
		if err == nil {
			return h, w.abandon()
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = s.putAside(path) // something lies there that is no tree
		} else if errors.Is(err, errChanged) {
			err = nil // it was put aside
		}
		if err != nil {
			return nil, errors.Join(err, w.abandon())
		}
	}
}

// keep turns the lock of who works on a tree into one of who uses it.
func (s *store) keep(ctx context.Context, w *work, r *record) (*held, error) {
	h := &held{store: s, path: w.path, lock: w.lock, record: r}
	err := w.lock.Lock(ctx, disk.Shared)
	if err == nil {
		var there bool
		if there, err = stillThere(w.lock, filepath.Join(w.path, lockName)); !there && err == nil {
			err = errors.New("store: the tree was removed as soon as it was there; the store is too small for it")
		}
	}
	if err == nil {
		return h, h.open()
	}
	return nil, errors.Join(err, w.lock.Close())
}
