package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/joulebox/joulebox/internal/disk"
)

// refresh finds the end of the log, which another process may have moved. With
// the lock it cuts off what is torn; without, that is errTorn.
func (l *DirLog) refresh(locked bool) error {
	if err := l.openLast(); err != nil || l.tail == nil {
		return err
	}
	for {
		size, err := l.tail.size()
		if err != nil || size == l.size && !l.ended {
			return err
		}
		if size != l.size {
			if err := l.grown(size, locked); err != nil || !locked || !l.ended {
				return err
			}
		}
		err = l.moveTo(l.tail.start + l.size)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the next segment is for us to make
		}
		if err != nil {
			return err
		}
	}
}

// grown looks at a tail whose size isn't what it was.
func (l *DirLog) grown(size int64, locked bool) error {
	if size < l.size {
		return l.tail.corrupt(size, fmt.Errorf("records up to %d were there and are gone", l.tail.start+l.size))
	}
	c := l.tail.cursor(size, oneRecord)
	doubt, ended, ok := c.wholeTail()
	if !ok {
		return l.cut(c, locked)
	}
	if locked { // else it may be a write that is still going on
		l.size, l.doubt, l.ended = size, doubt, ended
	}
	return nil
}

func (l *DirLog) openLast() error {
	if l.tail != nil {
		return nil
	}
	starts, err := segmentStarts(l.fs, l.dir)
	if err != nil || len(starts) == 0 {
		return err
	}
	return l.moveTo(starts[len(starts)-1])
}

// cut removes what a crash left torn at the end.
func (l *DirLog) cut(c *cursor, locked bool) error {
	end, why := c.wholeUpTo(l.size)
	if why == nil {
		why = errTorn // of the last frames one doesn't fit
	}
	if c.provenBeyond(end) {
		return c.corrupt(end, why)
	}
	if !locked {
		return errTorn
	}
	if err := l.saveCut(c, end); err != nil {
		return err
	}
	if err := l.tail.file.Truncate(end); err != nil {
		return err
	}
	if err := l.tail.file.Sync(); err != nil {
		return err
	}
	l.size, l.doubt, l.ended = end, end, false
	return nil
}

// saveCut sets bytes aside that have the length of a record and not its check:
// most likely a torn write, but if the disk went bad under a record, this is it.
func (l *DirLog) saveCut(c *cursor, from int64) error {
	head, err := c.bytes(from, frameHead)
	if err != nil {
		return nil // no whole head: nothing that anyone was told of
	}
	length, err := peekFrame(head)
	if err != nil || from+length > c.size {
		return nil
	}
	b, err := c.bytes(from, c.size-from)
	if err != nil {
		return err
	}
	path := filepath.Join(l.dir, fmt.Sprintf("%016x.cut", c.start+from))
	return disk.Replace(l.fs, path, path+".tmp", b)
}
