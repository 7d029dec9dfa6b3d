package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Recent implements Log.
func (l *DirLog) Recent(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := l.backwards(ctx, yield); err != nil {
			yield(Record{}, err)
		}
	}
}

// backwards goes through the segments from last to first.
func (l *DirLog) backwards(ctx context.Context, yield func(Record, error) bool) error {
	r := reader{log: l, ctx: ctx}
	defer r.close()
	if err := r.usable(); err != nil {
		return err
	}
	starts, err := segmentStarts(l.fs, l.dir)
	if err != nil {
		return err
	}
	for i, start := range slices.Backward(starts) {
		if err := r.enter(start); err != nil {
			return err
		}
		end := r.size
		if i == len(starts)-1 {
			if end, err = r.wholeEnd(); err != nil {
				return err
			}
		} else if start+end != starts[i+1] {
			return r.corrupt(end, fmt.Errorf("the next segment starts at %d", starts[i+1]))
		}
		if more, err := r.backTo(segmentHead, end, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

// wholeEnd is where the last whole record of the last segment ends.
func (r *reader) wholeEnd() (int64, error) {
	if _, _, ok := r.wholeTail(); ok {
		return r.size, nil
	}
	unlock, err := r.log.lockShared(r.ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if r.size, err = r.segment.size(); err != nil {
		return 0, err
	}
	r.window = r.window[:0]
	if _, _, ok := r.wholeTail(); ok {
		return r.size, nil
	}
	end, why := r.wholeUpTo(segmentHead)
	if why != nil && r.provenBeyond(end) {
		return 0, r.corrupt(end, why)
	}
	return end, nil
}

// backTo yields the records of a part of a segment, newest first.
func (r *reader) backTo(begin, end int64, yield func(Record, error) bool) (more bool, err error) {
	c := r.segment.cursor(end, manyRecords)
	c.backward = true
	for end > begin {
		if err := r.usable(); err != nil {
			return false, err
		}
		f, at, err := c.frameBefore(end)
		if err != nil {
			return false, r.corrupt(end, fmt.Errorf("the record before: %w", err))
		}
		if f.kind == recordFrame && !yield(f.record(r.start+at), nil) {
			return false, nil
		}
		end = at
	}
	return true, nil
}
