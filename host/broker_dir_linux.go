package host

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// dir is an open directory of a unit: an O_PATH descriptor, and a second one that
// can be listed once the unit has listed it.
type dir struct {
	s    *storage
	root *root
	fd   int
	list int  // -1 until it is listed
	own  bool // fd is this dir's to close
}

// begin is the start of every call on a path.
func (d *dir) begin(ctx context.Context, path string, write bool) error {
	if err := d.s.b.operation(ctx, write); err != nil {
		return err
	}
	if strings.HasPrefix(path, "/") {
		return d.s.b.refuse(path, errEscapes)
	}
	return d.checkDots(path)
}

// checkDots keeps ".." from telling what there is beside the granted: whatever it
// is behind must be something that the unit may know of.
func (d *dir) checkDots(path string) error {
	if !strings.Contains(path, "..") {
		return nil
	}
	here, err := d.s.guestName(d.root, d.fd)
	if err != nil {
		return err
	}
	at := here
	for seg := range strings.SplitSeq(path, "/") {
		if seg == ".." && at != here && !d.s.visible(at) {
			return d.s.b.settle(d.s.b.enforcer.MayPath(grant.Read, at), at)
		}
		at = join(at, seg)
	}
	return nil
}

// visible reports whether a unit may know of a path: some mode of it is granted,
// or it is on the way to something granted.
func (s *storage) visible(path string) bool {
	for _, b := range s.bases {
		if holds(path, b.Path) {
			return true
		}
	}
	return s.b.anyMode(path)
}

// see is visible as a decision.
func (s *storage) see(path string) error {
	s.b.probes.look(path)
	if s.visible(path) {
		return nil
	}
	return s.b.settle(s.b.enforcer.MayPath(grant.Read, path), path)
}

// fail is what a unit is told when a path couldn't be opened. What isn't granted
// is denied, whether it is there or not.
func (d *dir) fail(path string, err error) error {
	if _, decided := err.(wasi.Errno); decided {
		return err
	}
	here, nameErr := d.s.guestName(d.root, d.fd)
	if nameErr != nil {
		return nameErr
	}
	if err == unix.EXDEV {
		return d.s.b.refuse(join(here, path), errEscapes)
	}
	if seeErr := d.s.see(join(here, path)); seeErr != nil {
		return seeErr
	}
	return err
}

// pin finds a path for a call; the caller closes the node.
func (d *dir) pin(path string, follow bool, flags uint64) (*node, error) {
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	n, err := d.s.pin(d.root, d.fd, path, flags)
	if err != nil {
		return nil, d.fail(path, err)
	}
	return n, nil
}

// place is a name in a directory that was found: what may be made, removed or
// renamed there. The last name itself is never followed.
type place struct {
	parent *node
	name   string // with a trailing slash if the path had one
	path   string // guest path
}

func (p *place) close() error { return p.parent.close() }

// place finds where a path's last name is or would be.
func (d *dir) place(path string) (*place, error) {
	dirPath, name, err := split(path)
	if err != nil {
		return nil, err
	}
	parent, err := d.s.pin(d.root, d.fd, dirPath, unix.O_DIRECTORY)
	if err != nil {
		return nil, d.fail(path, err)
	}
	p := &place{parent: parent, name: name, path: join(parent.path, name)}
	// Another root's place isn't here, whatever is beneath it.
	if d.s.rootOf(p.path) != d.root || d.s.isHidden(p) {
		return nil, errors.Join(d.s.b.refuse(p.path, errDenied), p.close())
	}
	return p, nil
}

// isHidden reports whether the place is a hidden path itself.
func (s *storage) isHidden(p *place) bool {
	if len(s.hidden) == 0 {
		return false
	}
	host, err := nameOf(p.parent.fd)
	return err != nil || anyHolds(s.hidden, join(host, p.name))
}

// Sync writes the directory's entries to the disk.
func (d *dir) Sync(ctx context.Context, _ bool) error {
	if err := d.s.b.operation(ctx, true); err != nil {
		return err
	}
	fd, err := openAgain(d.fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fsync(fd), unix.Close(fd))
}

// Close closes the directory.
func (d *dir) Close() error {
	var err error
	if d.own {
		err = unix.Close(d.fd)
	}
	if d.list >= 0 {
		err = errors.Join(err, unix.Close(d.list))
	}
	return err
}
