package rootfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
	"golang.org/x/sys/unix"
)

// errChanged is that what is on the disk isn't what it was.
var errChanged = errors.New("was changed")

// hashAll addresses the files of a tree, on all processors. Paths are those of the
// scan and lead through no link: what has become one meanwhile isn't followed.
func hashAll(ctx context.Context, dir int, all []found) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *found)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			buf := make([]byte, stageBuffer)
			for f := range work {
				var err error
				if f.B3, err = hashFile(dir, f, buf); err != nil {
					cancel(fmt.Errorf("%q: %w", f.Path, err))
				}
			}
		})
	}
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		if all[i].Type == unit.File {
			work <- &all[i]
		}
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}

func hashFile(dir int, f *found, buf []byte) (id joulebox.ID, err error) {
	fd, err := openFile(dir, f)
	if err != nil {
		return id, err
	}
	defer unix.Close(fd)
	return hashRead(fd, f.size, buf)
}

// openFile opens the very file that was found.
func openFile(dir int, f *found) (int, error) {
	fd, err := openBeneath(dir, f.Path, unix.O_RDONLY)
	if err == unix.EACCES {
		fd, err = openLent(dir, f)
	}
	if err != nil {
		return -1, named("open", "", err)
	}
	var t unix.Stat_t
	if err := unix.Fstat(fd, &t); err != nil || t.Mode&unix.S_IFMT != unix.S_IFREG || t.Ino != f.inode {
		unix.Close(fd)
		return -1, cmp.Or(err, errChanged)
	}
	return fd, nil
}

// openLent reads a file of ours whose owner may not read it (/etc/shadow of some
// images is such): the owner may let himself for a moment.
func openLent(dir int, f *found) (int, error) {
	path, err := openBeneath(dir, f.Path, unix.O_PATH)
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	var t unix.Stat_t
	if err := unix.Fstat(path, &t); err != nil {
		return -1, err
	}
	if int(t.Uid) != os.Geteuid() || t.Mode&unix.S_IFMT != unix.S_IFREG || t.Ino != f.inode {
		return -1, unix.EACCES
	}
	self := fmt.Sprintf("/proc/self/fd/%d", path)
	if err := unix.Chmod(self, t.Mode&maxMode|0o400); err != nil {
		return -1, err
	}
	fd, err := unix.Open(self, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return fd, cmp.Or(unix.Chmod(self, t.Mode&maxMode), err)
}

// openBeneath opens a path of an image below its root, through folders alone.
func openBeneath(dir int, path string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.O_PATH != 0 {
		how.Flags &^= unix.O_NONBLOCK // openat2 takes only what goes together
	}
	return again(func() (int, error) {
		fd, err := unix.Openat2(dir, path[1:], &how)
		if err == unix.EAGAIN { // a rename came between
			err = unix.EINTR
		}
		return fd, err
	})
}

// sum drains a reader into an address.
func sum(r io.Reader) (joulebox.ID, error) {
	h := joulebox.NewHasher()
	_, err := io.Copy(h, r)
	return h.ID(), err
}
