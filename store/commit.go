package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox/internal/disk"
)

// commit writes one batch for everyone. The caller has the turn; it may find that
// its own record p was written by the one before.
func (l *DirLog) commit(ctx context.Context, p *pending) {
	select {
	case <-p.ended:
		return
	default:
	}
	if err := l.lock.Lock(ctx, disk.Exclusive); err != nil {
		l.withdraw(p, err) // the others try for themselves
		return
	}
	defer l.lock.Unlock()
	batch, bytes := l.take()
	at, err := l.write(batch, bytes)
	for _, p := range batch {
		if err != nil {
			p.finish(0, err)
			continue
		}
		p.finish(Offset(at), nil)
		at += frameLength(p.data, p.keys)
	}
}

// Settle makes durable what other processes have appended and may not have synced
// before they were killed: the next append has to do so before anything else. Who is
// going to append calls it early, and does something else meanwhile. What fails
// fails again in Append.
func (l *DirLog) Settle(ctx context.Context) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-l.turn }()
	if l.closed() || l.lock.Lock(ctx, disk.Exclusive) != nil {
		return
	}
	defer l.lock.Unlock()
	if l.broken == nil && l.refresh(true) == nil {
		_ = l.settle(0)
	}
}

// write makes a batch durable and returns where it begins.
func (l *DirLog) write(batch []*pending, bytes int64) (int64, error) {
	if l.broken != nil {
		return 0, l.broken
	}
	if err := l.refresh(true); err != nil {
		return 0, err
	}
	if err := l.room(bytes); err != nil {
		return 0, err
	}
	if err := l.settle(l.conf.doubtBytes); err != nil {
		return 0, err
	}
	// The first record makes the segment's name durable, whoever made the segment.
	if l.size == segmentHead {
		if err := l.fs.SyncDir(l.dir); err != nil {
			return 0, noRoom("a log segment", err)
		}
	}
	b := make([]byte, 0, bytes)
	for _, p := range batch {
		at := l.size + int64(len(b))
		b = appendFrame(b, &l.tail.salt, recordFrame, l.tail.start+at, at-l.doubt, p.data, p.keys)
	}
	begin := l.tail.start + l.size
	return begin, l.extend(b)
}

// extend makes bytes at the end of the tail durable, or leaves none of them.
func (l *DirLog) extend(b []byte) error {
	if _, err := l.tail.file.WriteAt(b, l.size); err != nil {
		return l.takeBack(err)
	}
	l.size += int64(len(b))
	if err := l.sync(); err != nil {
		l.size -= int64(len(b))
		return l.takeBack(err)
	}
	return nil
}

// settle keeps the part in doubt no longer than most bytes.
func (l *DirLog) settle(most int64) error {
	if l.tail == nil || l.size-l.doubt <= most {
		return nil
	}
	return noRoom("a record", l.sync())
}

// sync makes everything so far durable. After a sync that failed for another
// reason than room, a later one may succeed though the bytes were dropped: the
// log is not written to again.
func (l *DirLog) sync() error {
	err := l.tail.file.Sync()
	if err == nil {
		l.doubt = l.size
		return nil
	}
	var full *FullError
	if !errors.As(noRoom("", err), &full) {
		l.giveUp("a sync failed", err)
	}
	return err
}

func (l *DirLog) giveUp(what string, err error) {
	l.broken = fmt.Errorf("store: log %s: %s (%w): open the store anew when the disk is well again", l.dir, what, err)
}

// takeBack removes a write that failed, so that no one reads what no one was
// told of.
func (l *DirLog) takeBack(why error) error {
	err := l.tail.file.Truncate(l.size)
	if err == nil {
		err = l.tail.file.Sync()
	}
	if err != nil {
		l.giveUp("a failed write can't be taken back", err)
	}
	return noRoom("a record", why)
}

// room starts a new segment where the tail is full or there is none.
func (l *DirLog) room(bytes int64) error {
	start := int64(0)
	if l.tail != nil {
		if !l.ended && (l.size == segmentHead || l.size+bytes <= l.conf.segmentBytes) {
			return nil
		}
		if err := l.end(); err != nil {
			return err
		}
		start = l.tail.start + l.size
	}
	var s salt
	rand.Read(s[:])
	temp := filepath.Join(l.dir, "next.tmp")
	if err := disk.Place(l.fs, l.pathOf(start), temp, s.header(start)); err != nil {
		return noRoom("a log segment", err)
	}
	return l.moveTo(start)
}

// end completes the tail. All of it is on the disk then: later no one looks back
// here for what may be torn.
func (l *DirLog) end() error {
	if l.ended {
		return l.settle(0) // by a process that may have been killed before its sync
	}
	at := l.tail.start + l.size
	err := l.extend(appendFrame(nil, &l.tail.salt, endFrame, at, l.size-l.doubt, nil, nil))
	l.ended = err == nil
	return err
}

func (l *DirLog) moveTo(start int64) error {
	s, err := openSegment(l.fs, l.dir, start, os.O_RDWR)
	if err != nil {
		return err
	}
	if l.tail != nil {
		l.tail.file.Close()
	}
	l.tail, l.size, l.doubt, l.ended = s, segmentHead, segmentHead, false
	return nil
}
