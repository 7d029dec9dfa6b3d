package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"github.com/joulebox/joulebox"
)

// logIndex finds records by key. Each segment that is followed by another has a
// file of sorted keys, made when it's first needed; the last segment is read
// into memory, and read on when it has grown. So appends pay nothing for it.
type logIndex struct {
	mu     sync.Mutex
	starts []int64 // as far as known
	active activeIndex
}

// activeIndex is what is known of the last segment.
type activeIndex struct {
	start int64
	upTo  int64 // position within the segment
	at    map[joulebox.ID][]int64
}

// entry says that the record at an offset has a key.
type entry struct {
	key    joulebox.ID
	offset int64
}

// Resolve implements Index.
func (l *DirLog) Resolve(ctx context.Context, prefix string) (joulebox.ID, error) {
	span, err := parsePrefix(prefix)
	if err != nil {
		return joulebox.ID{}, err
	}
	var found matches
	enough := errors.New("enough")
	err = l.search(ctx, span, func(e entry) error {
		if slices.Contains(found.ids, e.key) {
			return nil
		}
		// Not trusted over the log: the record itself must have the key.
		if _, err := l.confirm(ctx, e); err != nil {
			return err
		}
		if !found.add(e.key) {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return joulebox.ID{}, err
	}
	return found.resolve(prefix)
}

// Find implements Index.
func (l *DirLog) Find(ctx context.Context, key joulebox.ID) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var entries []entry
		err := l.search(ctx, keyRange{key, key}, func(e entry) error {
			entries = append(entries, e)
			return nil
		})
		for _, e := range entries {
			var rec Record
			if rec, err = l.confirm(ctx, e); err != nil || !yield(rec, nil) {
				break
			}
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// confirm reads the record that an entry speaks of.
func (l *DirLog) confirm(ctx context.Context, e entry) (Record, error) {
	for rec, err := range l.Records(ctx, Offset(e.offset)) {
		if err != nil {
			return Record{}, err
		}
		if !slices.Contains(rec.Keys, e.key) {
			break
		}
		return rec, nil
	}
	return Record{}, &CorruptError{What: "index of the log " + l.dir, Offset: Offset(e.offset), Reason: "the record there lacks the key " + e.key.String() + ": remove the .idx files, they are made anew"}
}

// search gives each entry within a span, oldest segment first.
func (l *DirLog) search(ctx context.Context, span keyRange, found func(entry) error) error {
	if err := (&reader{log: l, ctx: ctx}).usable(); err != nil {
		return err
	}
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	if err := l.knowSegments(); err != nil || len(l.index.starts) == 0 {
		return err
	}
	last := len(l.index.starts) - 1
	for i, start := range l.index.starts[:last] {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := l.searchSealed(ctx, start, l.index.starts[i+1], span)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := found(e); err != nil {
				return err
			}
		}
	}
	return l.searchActive(ctx, l.index.starts[last], span, found)
}

// knowSegments follows the chain of segments from the last one that is known.
func (l *DirLog) knowSegments() (err error) {
	x := &l.index
	if len(x.starts) == 0 {
		x.starts, err = segmentStarts(l.fs, l.dir)
		return err
	}
	for {
		last := x.starts[len(x.starts)-1]
		s, err := l.fs.Stat(l.pathOf(last))
		if err != nil {
			return err
		}
		if _, err := l.fs.Stat(l.pathOf(last + s.Size)); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		x.starts = append(x.starts, last+s.Size)
	}
}

// searchActive reads on to the end of the log and looks through memory.
func (l *DirLog) searchActive(ctx context.Context, start int64, span keyRange, found func(entry) error) error {
	if err := l.readActive(ctx, start); err != nil {
		return err
	}
	at := l.index.active.at
	if span.low == span.high {
		return eachOffset(span.low, at[span.low], found)
	}
	for key, offsets := range at {
		if span.contains(key) {
			if err := eachOffset(key, offsets, found); err != nil {
				return err
			}
		}
	}
	return nil
}

func eachOffset(key joulebox.ID, offsets []int64, found func(entry) error) error {
	for _, o := range offsets {
		if err := found(entry{key, o}); err != nil {
			return err
		}
	}
	return nil
}

func (l *DirLog) readActive(ctx context.Context, start int64) error {
	a := &l.index.active
	if a.at == nil || a.start != start {
		*a = activeIndex{start: start, upTo: segmentHead, at: map[joulebox.ID][]int64{}}
	}
	r := reader{log: l, ctx: ctx}
	defer r.close()
	if err := r.enter(start); err != nil {
		return err
	}
	if r.at = a.upTo; r.at > r.size {
		// A write that failed was read before it was taken back.
		*a = activeIndex{start: start, upTo: segmentHead, at: map[joulebox.ID][]int64{}}
		r.at = segmentHead
	}
	for {
		f, err := r.step()
		if errors.Is(err, errEnd) || err == nil && r.start != start {
			return nil // what lies in the next segment is found next time
		}
		if err != nil {
			return err
		}
		for _, k := range f.keys {
			a.at[k] = append(a.at[k], start+r.at)
		}
		r.at += f.length
		a.upTo = r.at
	}
}

// entriesOf reads the keys of a whole segment.
func (l *DirLog) entriesOf(ctx context.Context, start, end int64) (salt, []entry, error) {
	r := reader{log: l, ctx: ctx}
	defer r.close()
	if err := r.enter(start); err != nil {
		return salt{}, nil, err
	}
	if start+r.size != end {
		return salt{}, nil, r.corrupt(r.size, fmt.Errorf("the next segment starts at %d", end))
	}
	var entries []entry
	for r.at < r.size {
		f, err := r.frame(r.at)
		if err != nil {
			return salt{}, nil, r.corrupt(r.at, err)
		}
		for _, k := range f.keys {
			entries = append(entries, entry{k, start + r.at})
		}
		r.at += f.length
	}
	return r.salt, entries, nil
}
