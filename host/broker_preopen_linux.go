package host

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/internal/wasi"
)

// preopens opens a directory for each base of the grants, and for each mount
// within one.
func (s *storage) preopens() ([]wasi.Preopen, error) {
	var paths []string
	for _, b := range s.bases {
		paths = append(paths, s.preopenPath(b.Path))
		for _, r := range s.roots {
			if b.Below && holds(b.Path, r.guest) {
				paths = append(paths, r.guest)
			}
		}
	}
	slices.Sort(paths)
	var list []wasi.Preopen
	for _, p := range slices.Compact(paths) {
		d, err := s.preopen(p)
		if err != nil {
			for _, open := range list {
				open.Dir.Close()
			}
			return nil, err
		}
		list = append(list, wasi.Preopen{Name: p, Dir: d})
	}
	if s.b.config.Image != nil {
		return list, nil // names that begin nowhere else are looked for by the image's root
	}
	return append(list, s.relativePreopens(list)...), nil
}

// preopenPath is the nearest directory at or above a base.
func (s *storage) preopenPath(p string) string {
	r := s.rootOf(p)
	for ; r != nil && p != r.guest; p = path.Dir(p) {
		rest := strings.TrimPrefix(strings.TrimPrefix(p, r.guest), "/")
		fd, err := openBeneath(r.fd, rest, unix.O_PATH|unix.O_DIRECTORY)
		if err == nil {
			unix.Close(fd)
			break
		}
	}
	return p
}

func (s *storage) preopen(guest string) (*dir, error) {
	d, rest, err := s.find(guest, wasi.OpenHow{})
	if err != nil {
		return nil, fmt.Errorf("storage grant for %q: %w", guest, err)
	}
	n, err := s.pin(d.root, d.fd, rest, unix.O_DIRECTORY)
	if errors.Is(err, wasi.EAcces) || errors.Is(err, unix.EACCES) {
		return nil, fmt.Errorf("storage grant for %q: no grant reaches there, keys and records least of all: %w", guest, ErrDenied)
	}
	if err != nil {
		return nil, fmt.Errorf("storage grant for %q: %w", guest, err)
	}
	if n.path != guest {
		return nil, errors.Join(fmt.Errorf("storage grant for %q: it is a link to %q; grant that", guest, n.path), n.close())
	}
	return &dir{s: s, root: d.root, fd: n.fd, list: -1, own: true}, nil
}
