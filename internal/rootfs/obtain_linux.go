package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/joulebox/joulebox"
)

// fill makes what a new tree is written from.
type fill func(ctx context.Context, w *work) (*node, LeftOut, error)

// obtain finds a tree by its key or makes it. One process makes it and others wait.
func (s *store) obtain(ctx context.Context, k key, rehash bool, make fill) (*held, error) {
	if h, err := s.find(ctx, k, rehash); h != nil || err != nil {
		return h, err
	}
	lock, err := s.lockFile(ctx, "make", k)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if h, err := s.find(ctx, k, rehash); h != nil || err != nil {
		return h, err
	}
	h, err := s.make(ctx, make)
	if err != nil {
		return nil, err
	}
	if err := s.remember(k, h.record.id); err != nil {
		return nil, errors.Join(err, h.close())
	}
	s.prune()
	return h, nil
}

// find gives nothing if there is nothing, or only something that changed.
func (s *store) find(ctx context.Context, k key, rehash bool) (*held, error) {
	id, ok := s.lookup(k)
	if !ok {
		return nil, nil
	}
	h, err := s.hold(ctx, id, rehash)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errChanged) {
		return nil, nil
	}
	return h, err
}

func (s *store) make(ctx context.Context, make fill) (*held, error) {
	s.sweep()
	w, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	root, left, err := make(ctx, w)
	if err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	r, err := w.write(ctx, root)
	if err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	r.left = left
	return s.finish(ctx, w, r)
}

// again addresses anew what a tree holds.
func (h *held) again(ctx context.Context) (joulebox.ID, error) {
	if h.asRecorded() {
		return h.record.id, nil
	}
	now, err := h.readAll(ctx)
	if err != nil {
		return joulebox.ID{}, err
	}
	return now.id, nil
}
