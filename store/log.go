package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// DirLog is a log in a folder of segments. Any number of goroutines and
// processes may append and read at once. An append is one write and one sync
// for everything that waits at the time.
type DirLog struct {
	fs   disk.FS
	dir  string
	lock disk.File
	conf logConfig

	turn  chan struct{} // full while someone commits
	mu    sync.Mutex    // guards the two below
	queue []*pending
	done  bool // closed

	// What follows belongs to who has the turn and the lock.
	tail   *segment
	size   int64 // of the tail when last looked at, all of it whole
	doubt  int64 // from here on it may not be on the disk
	ended  bool  // the tail is complete, and another segment follows or must
	broken error // the disk refused to take a write back

	index logIndex
}

var (
	_ Log   = (*DirLog)(nil)
	_ Index = (*DirLog)(nil)
)

type logConfig struct {
	segmentBytes int64 // a segment that would grow beyond is followed by a new one
	doubtBytes   int64 // how much may be in doubt before it's synced for its own sake
	batchBytes   int64 // how much is written at once
}

var defaultLog = logConfig{segmentBytes: 8 << 20, doubtBytes: 0, batchBytes: 16 << 20}

// openWait bounds the wait for the lock while a log is opened.
const openWait = 10 * time.Second

// OpenLog opens the log in a folder, and makes the folder if there is none.
// What a crash left torn at the end is cut off; anything else that isn't as it
// was written is a *CorruptError, here or when it's read.
func OpenLog(dir string) (*DirLog, error) {
	l, err := openLog(disk.OS, dir, defaultLog)
	if err == nil && l.tail == nil { // as a rule the first to open it
		err = disk.SyncUp(disk.OS, dir)
	}
	return l, err
}

func openLog(fsys disk.FS, dir string, conf logConfig) (*DirLog, error) {
	if err := disk.MakeDirs(fsys, dir); err != nil {
		return nil, err
	}
	lock, err := fsys.Open(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	l := &DirLog{fs: fsys, dir: dir, lock: lock, conf: conf, turn: make(chan struct{}, 1)}
	if err := l.mend(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// mend looks at the end without the lock, since as a rule it's whole.
func (l *DirLog) mend() error {
	err := l.refresh(false)
	if !errors.Is(err, errTorn) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openWait)
	defer cancel()
	if err := l.lock.Lock(ctx, disk.Exclusive); err != nil {
		return fmt.Errorf("store: another process holds the log %s: %w", l.dir, err)
	}
	defer l.lock.Unlock()
	return l.refresh(true)
}

// Close ends the log's use. Appends that have begun are finished first.
func (l *DirLog) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	for _, p := range l.queue {
		p.finish(0, ErrClosed)
	}
	l.queue = nil
	err := l.lock.Close()
	if l.tail != nil {
		err = errors.Join(err, l.tail.file.Close())
	}
	return err
}

func (l *DirLog) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// pending is an append that waits.
type pending struct {
	data   []byte
	keys   []joulebox.ID
	offset Offset
	err    error
	ended  chan struct{}
}

func (p *pending) finish(at Offset, err error) {
	p.offset, p.err = at, err
	close(p.ended)
}

// Append implements Log.
func (l *DirLog) Append(ctx context.Context, data []byte, keys ...joulebox.ID) (Offset, error) {
	keys, err := checkRecord(data, keys)
	if err != nil {
		return 0, err
	}
	p := &pending{data: data, keys: keys, ended: make(chan struct{})}
	if err := l.enqueue(ctx, p); err != nil {
		return 0, err
	}
	for {
		select {
		case <-p.ended:
			return p.offset, p.err
		case l.turn <- struct{}{}:
			l.commit(ctx, p)
			<-l.turn
		case <-ctx.Done():
			l.withdraw(p, ctx.Err())
			<-p.ended // at once, unless its write has begun
			return p.offset, p.err
		}
	}
}

func (l *DirLog) enqueue(ctx context.Context, p *pending) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return ErrClosed
	}
	l.queue = append(l.queue, p)
	return nil
}

// withdraw ends an append that nobody has begun to write.
func (l *DirLog) withdraw(p *pending, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, q := range l.queue {
		if q == p {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			p.finish(0, why)
			return
		}
	}
}

// take removes the next batch from the queue, oldest first.
func (l *DirLog) take() (batch []*pending, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.queue {
		n := frameLength(p.data, p.keys)
		if len(batch) > 0 && bytes+n > l.conf.batchBytes {
			break
		}
		batch, bytes = append(batch, p), bytes+n
	}
	l.queue = append([]*pending(nil), l.queue[len(batch):]...)
	return batch, bytes
}
