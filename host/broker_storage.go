package host

import (
	"context"
	"path"
	"strings"
	"syscall"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/wasi"
)

// The errors of a decision. A denial is EACCES whether or not there is such a
// file; what leaves its root has no path in the unit's world at all.
const (
	errDenied  = wasi.EAcces
	errEscapes = wasi.ENotcapable
)

// may asks for one mode of one canonical guest path, and counts a denial.
func (b *Broker) may(mode grant.Mode, path string) error {
	b.probes.look(path)
	return b.settle(b.enforcer.MayPath(mode, path), path)
}

// settle turns a decision about a path into an error.
func (b *Broker) settle(d grant.Decision, path string) error {
	if d.Allowed {
		return nil
	}
	b.deny(d)
	return b.refuse(path, errDenied)
}

// refuse counts an access that the grants or the roots refused.
func (b *Broker) refuse(path string, err wasi.Errno) error {
	b.counts.ioDenied.Add(1)
	b.probes.look(path)
	b.probes.denied(path)
	return err
}

// anyMode reports whether some mode is granted: then the unit may know of the
// path and of its kind, size and times.
func (b *Broker) anyMode(path string) bool {
	for _, m := range []grant.Mode{grant.Read, grant.Write, grant.Delete} {
		if b.enforcer.MayPath(m, path).Allowed {
			return true
		}
	}
	return false
}

// operation begins an operation on storage: it waits for its turn and is counted.
func (b *Broker) operation(ctx context.Context, write bool) error {
	if err := b.rate.operation(ctx); err != nil {
		return err
	}
	if write {
		b.counts.writes.Add(1)
	} else {
		b.counts.reads.Add(1)
	}
	return nil
}

// split divides a path into the directory that holds it and the last name. A
// trailing slash stays with the name: the kernel then wants a directory there.
func split(p string) (dir, name string, err error) {
	trimmed := strings.TrimRight(p, "/")
	dir, name = path.Split(trimmed)
	if dir == "" {
		dir = "."
	}
	switch name {
	case "", ".", "..":
		return "", "", syscall.EINVAL
	}
	if len(trimmed) < len(p) {
		name += "/"
	}
	return dir, name, nil
}

// join is the guest path of a name in a directory.
func join(dir, name string) string { return path.Join(dir, strings.TrimSuffix(name, "/")) }

// linkTarget is the guest path that a new symbolic link would lead to. Only ".."s
// in front are taken: behind a name that is a link itself they would mean
// something else than they say.
func linkTarget(dir, target string) (string, error) {
	if strings.HasPrefix(target, "/") {
		return "", errEscapes
	}
	p, named := dir, false
	for seg := range strings.SplitSeq(target, "/") {
		switch {
		case seg == "" || seg == ".":
		case seg == ".." && (named || p == "/"):
			return "", errEscapes
		case seg == "..":
			p = path.Dir(p)
		default:
			p, named = path.Join(p, seg), true
		}
	}
	return p, nil
}
