//go:build unix

package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// OS is the machine's own file system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Mkdir(name string) error      { return os.Mkdir(name, folderMode) }
func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(name string) error     { return os.Remove(name) }

func (osFS) List(name string) ([]string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (osFS) SyncDir(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

type osFile struct{ *os.File }

// control runs a system call on the descriptor, again if a signal came between.
func (f osFile) control(op string, call func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = c.Control(func(fd uintptr) {
		for {
			if result = call(int(fd)); result != unix.EINTR {
				return
			}
		}
	})
	if err == nil {
		err = result
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}

func (f osFile) Sync() error { return f.control("sync", syncData) }

const (
	lockPollFirst = 50 * time.Microsecond
	lockPollMost  = 2 * time.Millisecond
)

// Lock polls when ctx can end, since a thread that waits inside flock can't be
// called back; the locks it waits for are held for about one disk write.
func (f osFile) Lock(ctx context.Context, how LockKind) error {
	if ctx.Done() == nil {
		return f.control("lock", func(fd int) error { return unix.Flock(fd, flockOf(how)) })
	}
	for wait := lockPollFirst; ; wait = min(2*wait, lockPollMost) {
		if err := ctx.Err(); err != nil {
			return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		if ok, err := f.TryLock(how); ok || err != nil {
			return err
		}
		pause(ctx, wait)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (f osFile) TryLock(how LockKind) (bool, error) {
	err := f.control("lock", func(fd int) error { return unix.Flock(fd, flockOf(how)|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func (f osFile) Unlock() error {
	return f.control("unlock", func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}

func flockOf(how LockKind) int {
	if how == Exclusive {
		return unix.LOCK_EX
	}
	return unix.LOCK_SH
}
