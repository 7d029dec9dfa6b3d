package host

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// storage resolves the paths of one unit. Every path is opened beneath the root
// that holds it with openat2, which looks at every component; the name that the
// kernel then has for that descriptor is what the Enforcer decides on; and what is
// done is done to that descriptor. No path is walked twice.
type storage struct {
	b      *Broker
	roots  []*root // longest guest path first
	bases  []grant.Base
	hidden []string
	dents  []byte
	shared bool // the roots are others' to close
}

// root is a host directory that is shown at a guest path.
type root struct {
	guest string
	host  string // its real path when it was opened
	fd    int
}

// newStorage opens the roots that the grants need; none need none.
func newStorage(b *Broker) (*storage, error) {
	if h := b.config.handed; h != nil {
		return h.storage.open(b), nil
	}
	s := &storage{b: b, bases: b.config.Grants.Bases()}
	if len(s.bases) == 0 {
		return s, nil
	}
	if err := checkMechanism(); err != nil {
		return nil, err
	}
	if err := s.addMounts(b.config.Mounts); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.addBases(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.hide(b.config.Hidden); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// hide notes where the hidden paths really are, or would be once they are made.
func (s *storage) hide(paths []string) error {
	for _, h := range paths {
		rest := ""
		for at := path.Clean(h); ; at, rest = path.Dir(at), path.Join(path.Base(at), rest) {
			p, err := realPath(at)
			if err == nil {
				s.hidden = append(s.hidden, path.Join(p, rest))
				break
			}
			if !errors.Is(err, unix.ENOENT) || at == path.Dir(at) {
				return fmt.Errorf("hidden path %q: %w", h, err)
			}
		}
	}
	return nil
}

// checkMechanism makes sure, once, that the kernel has what storage stands on.
var checkMechanism = sync.OnceValue(func() error {
	if _, err := descriptors(); err != nil {
		return fmt.Errorf("storage grants: %w", err)
	}
	fd, err := openBeneath(unix.AT_FDCWD, ".", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("storage grants: openat2 doesn't work here (it came with Linux 5.6, and a seccomp filter may hide it): %w", err)
	}
	return unix.Close(fd)
})

func (s *storage) addMounts(mounts []Mount) error {
	for _, m := range mounts {
		guest, err := grant.CanonicalPath(m.Guest)
		if err != nil || guest != m.Guest {
			return fmt.Errorf("mount %q: want a canonical guest path", m.Guest)
		}
		if s.rootAt(guest) != nil {
			return fmt.Errorf("mount %q is given twice; keep one", guest)
		}
		if err := s.addRoot(guest, m.Host); err != nil {
			return fmt.Errorf("mount %q: %w", guest, err)
		}
	}
	return nil
}

// addBases makes a root of each granted directory that no mount holds. Links on
// the way to it are followed: whoever granted it named it that way.
func (s *storage) addBases() error {
	for _, b := range s.bases { // sorted, so an outer one comes first
		if s.rootOf(b.Path) != nil {
			continue
		}
		dir := existingDir(b.Path)
		if s.rootAt(dir) != nil {
			continue
		}
		if err := s.addRoot(dir, dir); err != nil {
			return fmt.Errorf("storage grant for %q: %w", b.Path, err)
		}
	}
	return nil
}

// existingDir is the path itself if it is a directory, else the nearest one above.
func existingDir(p string) string {
	for ; p != "/"; p = path.Dir(p) {
		var st unix.Stat_t
		if unix.Stat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			break
		}
	}
	return p
}

func (s *storage) addRoot(guest, host string) error {
	fd, err := unix.Open(host, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("host directory %q: %w", host, err)
	}
	real, err := nameOf(fd)
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	s.roots = append(s.roots, &root{guest: guest, host: real, fd: fd})
	slices.SortFunc(s.roots, func(a, b *root) int { return len(b.guest) - len(a.guest) })
	return nil
}

func (s *storage) close() error {
	if s == nil || s.shared {
		return nil
	}
	var errs []error
	for _, r := range s.roots {
		errs = append(errs, unix.Close(r.fd))
	}
	s.roots = nil
	return errors.Join(errs...)
}

func (s *storage) rootAt(guest string) *root {
	for _, r := range s.roots {
		if r.guest == guest {
			return r
		}
	}
	return nil
}

// rootOf is the root that holds a guest path; nil when none does.
func (s *storage) rootOf(guest string) *root {
	for _, r := range s.roots {
		if holds(r.guest, guest) {
			return r
		}
	}
	return nil
}

// find is the root of a guest path, and the path from there.
func (s *storage) find(guest string, how wasi.OpenHow) (*dir, string, error) {
	r := s.rootOf(guest)
	if r == nil {
		mode := grant.Read
		if how.Write {
			mode = grant.Write
		}
		if err := s.b.may(mode, guest); err != nil {
			return nil, "", err
		}
		return nil, "", unix.ENOENT // granted, but no root could be made for it
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(guest, r.guest), "/")
	if rest == "" {
		rest = "."
	}
	return &dir{s: s, root: r, fd: r.fd, list: -1}, rest, nil
}
