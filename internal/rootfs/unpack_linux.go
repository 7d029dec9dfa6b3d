package rootfs

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// unpack reads the layers, several at once, and merges them.
func (im *image) unpack(ctx context.Context, w *work, b *budget) (*node, LeftOut, error) {
	var left LeftOut
	if err := w.stage(len(im.layers)); err != nil {
		return nil, left, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ops := make([][]op, len(im.layers))
	lefts := make([]LeftOut, len(im.layers))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(im.layers)) {
		workers.Go(func() {
			for i := range next {
				var err error
				if ops[i], lefts[i], err = im.layers[i].unpack(ctx, w.stages[i], i, b); err != nil {
					cancel(fmt.Errorf("layer %d: %w", i, err))
				}
			}
		})
	}
	for i := range im.layers {
		next <- i // after an error each ends at once
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, left, err
	}
	for _, l := range lefts {
		left.add(l)
	}
	root, err := merge(ops, b)
	return root, left, err
}

func (l layer) unpack(ctx context.Context, stage, i int, b *budget) ([]op, LeftOut, error) {
	if err := ctx.Err(); err != nil {
		return nil, LeftOut{}, err
	}
	r, err := l.open(ctx)
	if err != nil {
		return nil, LeftOut{}, err
	}
	defer r.Close()
	stream := layerStream{packed: newBlob(withContext{ctx, r}, l.packed, l.size), diffID: l.diffID, budget: b}
	return stream.read(ctx, &stageDir{fd: stage, layer: i})
}
