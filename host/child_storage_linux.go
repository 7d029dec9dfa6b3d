package host

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jail"
)

// handedStorage are a run's roots in a process that didn't open them.
type handedStorage struct {
	roots  []*root
	hidden []string
}

// storage is one run's view of the handed roots, which outlast it.
func (h handedStorage) open(b *Broker) *storage {
	return &storage{b: b, roots: h.roots, bases: b.config.Grants.Bases(), hidden: h.hidden, shared: true}
}

// jailPaths are the rules that the kernel holds a process to, opened beneath the
// roots. They are by the bases of the grants, which are narrower than the roots:
// the root of a granted file is its directory.
func (h handedStorage) jailPaths(bases []grant.Base) []jail.Path {
	s := &storage{roots: h.roots}
	var paths []jail.Path
	for _, b := range bases {
		var access jail.Access
		for mode, bit := range map[grant.Mode]jail.Access{grant.Read: jail.Read, grant.Write: jail.Write, grant.Delete: jail.Delete} {
			if b.Modes[mode] {
				access |= bit
			}
		}
		if r := s.rootOf(b.Path); r != nil {
			paths = append(paths, jail.Path{FD: ruleFor(r, b), Access: access})
		}
		for _, r := range s.roots { // mounts within a granted tree
			if b.Below && r.guest != b.Path && holds(b.Path, r.guest) {
				paths = append(paths, jail.Path{FD: r.fd, Access: access})
			}
		}
	}
	return paths
}

// closeRules closes what was opened for rules alone: the kernel has them now.
func (h handedStorage) closeRules(paths []jail.Path) {
	for _, p := range paths {
		if !slices.ContainsFunc(h.roots, func(r *root) bool { return r.fd == p.FD }) {
			unix.Close(p.FD)
		}
	}
}

// ruleFor finds what a rule for a base is on: the base itself, or where it would
// be made. To remove a file, or to put another in its place, is to change its
// directory.
func ruleFor(r *root, b grant.Base) int {
	rest := strings.TrimPrefix(strings.TrimPrefix(b.Path, r.guest), "/")
	for ; rest != "" && rest != "."; rest = path.Dir(rest) {
		fd, err := openBeneath(r.fd, rest, unix.O_PATH)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && (st.Mode&unix.S_IFMT == unix.S_IFDIR || !b.Modes[grant.Delete]) {
			return fd
		}
		unix.Close(fd)
	}
	return r.fd
}
