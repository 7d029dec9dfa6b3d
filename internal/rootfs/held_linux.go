package rootfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// held is a tree of the store that stays there while it is held.
type held struct {
	store  *store
	path   string
	lock   disk.File // shared
	dir    *os.File  // O_PATH
	record *record
}

func (h *held) close() error {
	var errs []error
	if h.dir != nil {
		errs = append(errs, h.dir.Close())
	}
	return errors.Join(append(errs, h.lock.Close())...)
}

// hold takes a tree of the store and looks it over. An error that is
// fs.ErrNotExist says that it isn't there; errChanged that it was there and has
// been put aside.
func (s *store) hold(ctx context.Context, id joulebox.ID, rehash bool) (*held, error) {
	h, err := s.take(ctx, id)
	if err != nil {
		return nil, err
	}
	if err = h.check(ctx, id, rehash); err == nil {
		touch(filepath.Join(h.path, lockName))
		return h, nil
	}
	h.close()
	if errors.Is(err, errChanged) || errors.Is(err, errRecord) {
		return nil, errors.Join(fmt.Errorf("%s in the store %w", id, errChanged), s.putAside(h.path))
	}
	return nil, err
}

// take locks a tree that is there.
func (s *store) take(ctx context.Context, id joulebox.ID) (*held, error) {
	h := &held{store: s, path: s.treeDir(id)}
	name := filepath.Join(h.path, lockName)
	for {
		f, err := disk.OS.Open(name, os.O_RDWR)
		if err != nil {
			return nil, err
		}
		h.lock = f
		if err = f.Lock(ctx, disk.Shared); err != nil {
			f.Close()
			return nil, err
		}
		// Whoever removes a tree renames it first: a lock that came later is of no use.
		there, err := stillThere(f, name)
		if there && err == nil {
			return h, h.open()
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

func (h *held) open() (err error) {
	h.dir, err = os.OpenFile(filepath.Join(h.path, treeName), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		h.close()
	}
	return err
}
