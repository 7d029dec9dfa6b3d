package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/joulebox/joulebox/internal/disk"
)

// Records implements Log.
func (l *DirLog) Records(ctx context.Context, from Offset) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := reader{log: l, ctx: ctx}
		defer r.close()
		if err := r.seek(int64(from)); err != nil {
			yield(Record{}, err)
			return
		}
		for {
			rec, err := r.next()
			if errors.Is(err, errEnd) {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// errEnd is the end of the log, for now.
var errEnd = errors.New("end of log")

// reader goes through a log from older to newer records, without the lock
// unless something looks torn.
type reader struct {
	log *DirLog
	ctx context.Context
	*cursor
	at int64 // within the segment
}

func (r *reader) close() {
	if r.cursor != nil {
		r.file.Close()
		r.cursor = nil
	}
}

// seek goes to an offset, or to the first record for 0.
func (r *reader) seek(offset int64) error {
	if err := r.usable(); err != nil {
		return err
	}
	starts, err := segmentStarts(r.log.fs, r.log.dir)
	if err != nil || len(starts) == 0 {
		return notAtStart(err, offset)
	}
	if offset == 0 {
		offset = starts[0]
	}
	i, found := slices.BinarySearch(starts, offset)
	if !found {
		i--
	}
	if i < 0 {
		return notARecord(Offset(offset))
	}
	if err := r.enter(starts[i]); err != nil {
		return err
	}
	r.at = max(offset-starts[i], segmentHead)
	if r.at > r.size {
		return notARecord(Offset(offset))
	}
	return nil
}

// notAtStart is for a log without records.
func notAtStart(err error, offset int64) error {
	if err == nil && offset != 0 {
		err = notARecord(Offset(offset))
	}
	return err
}

func (r *reader) usable() error {
	if r.log.closed() {
		return ErrClosed
	}
	return r.ctx.Err()
}

func (r *reader) enter(start int64) error {
	s, err := openSegment(r.log.fs, r.log.dir, start, os.O_RDONLY)
	if err != nil {
		return err
	}
	size, err := s.size()
	if err != nil {
		s.file.Close()
		return err
	}
	r.close()
	r.cursor, r.at = s.cursor(size, manyRecords), segmentHead
	return nil
}

func (r *reader) next() (Record, error) {
	if err := r.usable(); err != nil {
		return Record{}, err
	}
	if r.cursor == nil {
		return Record{}, errEnd
	}
	f, err := r.step()
	if err != nil {
		return Record{}, err
	}
	rec := f.record(r.start + r.at)
	r.at += f.length
	return rec, nil
}

// record copies what a frame borrows.
func (f frame) record(offset int64) Record {
	return Record{Offset: Offset(offset), Next: Offset(offset + f.length), Keys: f.keys, Data: append([]byte{}, f.data...)}
}

// step reads the frame at r.at and goes on to the next segment where one ends.
func (r *reader) step() (frame, error) {
	for {
		if r.at < r.size {
			f, err := r.frame(r.at)
			if err != nil {
				f, err = r.again()
			}
			if err == nil && f.kind == endFrame {
				r.at += f.length
				continue
			}
			if err == nil || !errors.Is(err, errEnd) {
				return f, err
			}
		}
		if err := r.more(); err != nil {
			return frame{}, err
		}
	}
}

// more looks whether the segment has grown, or another one has begun.
func (r *reader) more() error {
	size, err := r.segment.size()
	if err != nil {
		return err
	}
	if size > r.at {
		if size == r.size {
			return errEnd // torn, and nobody has cut it off yet
		}
		r.size, r.window = size, r.window[:0]
		return nil
	}
	err = r.enter(r.start + size)
	if errors.Is(err, fs.ErrNotExist) {
		return r.isLast(size)
	}
	return err
}

// isLast is errEnd if no segment lies beyond this one. If one does, nil says that
// it has begun just now, and any other error that one between is missing.
func (r *reader) isLast(size int64) error {
	starts, err := segmentStarts(r.log.fs, r.log.dir)
	if err != nil {
		return err
	}
	i, _ := slices.BinarySearch(starts, r.start+1)
	if i == len(starts) {
		return errEnd
	}
	if now, err := r.segment.size(); err != nil || now != size || starts[i] == r.start+size {
		return err
	}
	return r.corrupt(size, fmt.Errorf("the next segment there is starts at %d", starts[i]))
}

// again reads a frame that didn't look whole once more while no one writes. If
// it still isn't, it's the torn end of the log or it's corrupt.
func (r *reader) again() (f frame, err error) {
	unlock, err := r.log.lockShared(r.ctx)
	if err != nil {
		return frame{}, err
	}
	defer unlock()
	if r.size, err = r.segment.size(); err != nil {
		return frame{}, err
	}
	r.window = r.window[:0]
	if r.at >= r.size {
		return frame{}, errEnd // it was a write that failed and was taken back
	}
	f, why := r.frame(r.at)
	if why == nil {
		return f, nil
	}
	next := filepath.Join(r.log.dir, segmentName(r.start+r.size))
	if _, err := r.log.fs.Stat(next); !errors.Is(err, fs.ErrNotExist) || r.provenBeyond(r.at) {
		return frame{}, r.corrupt(r.at, why)
	}
	return frame{}, errEnd
}

// lockShared waits until no one writes. It takes a lock of its own: one that is
// held through the appender's file would be the appender's.
func (l *DirLog) lockShared(ctx context.Context) (unlock func(), err error) {
	f, err := l.fs.Open(filepath.Join(l.dir, "lock"), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := f.Lock(ctx, disk.Shared); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
