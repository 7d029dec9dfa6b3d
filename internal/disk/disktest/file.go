package disktest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/joulebox/joulebox/internal/disk"
)

// file is an open file or folder.
type file struct {
	sim    *Sim
	name   string
	node   *node
	closed bool
}

// Open implements disk.FS.
func (s *Sim) Open(name string, flag int) (disk.File, error) {
	err := s.enter("open", name)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := s.walk(name)
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, fail("open", name, fs.ErrNotExist)
	case n != nil && flag&os.O_EXCL != 0:
		return nil, fail("open", name, fs.ErrExist)
	case n == nil:
		n = s.node(0o600)
		if err := s.link("open", name, n); err != nil {
			return nil, err
		}
	}
	return &file{sim: s, name: name, node: n}, nil
}

// enter begins a call on the file: the caller must unlock.
func (f *file) enter(op string) error {
	err := f.sim.enter(op, f.name)
	if err == nil && f.closed {
		err = fail(op, f.name, fs.ErrClosed)
	}
	return err
}

func (f *file) ReadAt(p []byte, at int64) (int, error) {
	err := f.enter("read")
	defer f.sim.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if at >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, at int64) (int, error) {
	err := f.enter("write")
	defer f.sim.mu.Unlock()
	if err != nil {
		p = p[:len(p)/2]
	}
	w := write{at: at, bytes: append([]byte{}, p...)}
	f.node.data = w.apply(f.node.data)
	f.node.writes = append(f.node.writes, w)
	return len(p), err
}

func (f *file) Truncate(size int64) error {
	err := f.enter("truncate")
	defer f.sim.mu.Unlock()
	if err != nil {
		return err
	}
	w := write{at: size, cut: true}
	f.node.data = w.apply(f.node.data)
	f.node.writes = append(f.node.writes, w)
	return nil
}

// apply returns the data after a write.
func (w write) apply(data []byte) []byte {
	end := w.at + int64(len(w.bytes))
	if w.cut && int64(len(data)) > end {
		return append([]byte{}, data[:end]...)
	}
	if int64(len(data)) < end {
		data = append(append([]byte{}, data...), make([]byte, end-int64(len(data)))...)
	} else {
		data = append([]byte{}, data...)
	}
	copy(data[w.at:], w.bytes)
	return data
}

func (f *file) Sync() error {
	err := f.enter("sync")
	defer f.sim.mu.Unlock()
	if errors.Is(err, ErrPower) {
		return err // it didn't fail, it never came back
	}
	if err == nil {
		for _, w := range f.node.writes {
			f.node.kept = w.apply(f.node.kept)
		}
	}
	f.node.writes = nil // also when it failed: no later sync brings them back
	return err
}

func (f *file) Chmod(mode fs.FileMode) error {
	err := f.enter("chmod")
	defer f.sim.mu.Unlock()
	if err == nil {
		f.node.mode = f.node.mode.Type() | mode
	}
	return err
}

func (f *file) Stat() (disk.Stat, error) {
	err := f.enter("stat")
	defer f.sim.mu.Unlock()
	if err != nil {
		return disk.Stat{}, err
	}
	return f.node.stat(), nil
}

func (f *file) Close() error {
	f.sim.mu.Lock()
	defer f.sim.mu.Unlock()
	if f.closed {
		return fail("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	delete(f.node.holders, f)
	return nil
}

func (f *file) Lock(ctx context.Context, how disk.LockKind) error {
	for {
		if err := ctx.Err(); err != nil {
			return fail("lock", f.name, err)
		}
		if ok, err := f.TryLock(how); ok || err != nil {
			return err
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func (f *file) TryLock(how disk.LockKind) (bool, error) {
	err := f.enter("lock")
	defer f.sim.mu.Unlock()
	if err != nil {
		return false, err
	}
	for other, theirs := range f.node.holders {
		if other != f && (how == disk.Exclusive || theirs == disk.Exclusive) {
			return false, nil
		}
	}
	f.node.holders[f] = how
	return true, nil
}

func (f *file) Unlock() error {
	f.sim.mu.Lock()
	defer f.sim.mu.Unlock()
	delete(f.node.holders, f)
	return nil
}
