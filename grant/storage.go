package grant

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Mode is how a path is accessed (§5.2). No mode implies another.
type Mode uint8

// The modes.
const (
	Read Mode = iota
	Write
	Delete
)

var modeNames = [...]string{"read", "write", "delete"}

// String is the member's name in the grant.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// MayPath answers whether a path may be accessed (§5.2). The path is brought to
// its canonical form first; a caller that opens it must open that form, beneath
// the granted root, and ask again for what a link leads to. An allowed query for
// a canonical path allocates nothing.
func (e *Enforcer) MayPath(mode Mode, path string) Decision {
	if int(mode) >= len(e.paths) {
		return deny("", "%v is no access mode", mode)
	}
	p, err := CanonicalPath(path)
	if err != nil {
		return deny("", "%v", err)
	}
	if mode == Delete && p == "/" {
		return deny("", "the root is never deleted")
	}
	if reason, ok := firstMatch(e.paths[mode], p); ok {
		return allow(reason)
	}
	return deny(fmt.Sprintf("storage.%v: %s", mode, globFor(p)), "no glob of storage.%v covers %q", mode, p)
}

// globFor is the narrowest glob that covers a path: the path itself, with a star
// for whatever the language of globs can't say.
func globFor(path string) string {
	if _, err := ParseGlob(path); err == nil && !strings.Contains(path, "*") {
		return path
	}
	var b strings.Builder
	star := false
	for _, r := range path {
		bad := r == '*' || strings.ContainsRune(wildcards, r) || misleading(r) || r == utf8.RuneError
		if !bad {
			b.WriteRune(r)
		} else if !star {
			b.WriteByte('*')
		}
		star = bad
	}
	return b.String()
}

// MayList answers whether a directory's names may be listed: read on the
// directory itself.
func (e *Enforcer) MayList(dir string) Decision { return e.MayPath(Read, dir) }

// MayRename answers whether a file may get another name: delete on the old one
// and write on the new one. Neither implies read, so a file that can't be read
// where it is can't be moved to where it could be.
func (e *Enforcer) MayRename(from, to string) Decision {
	if d := e.MayPath(Delete, from); !d.Allowed {
		return d
	}
	if d := e.MayPath(Write, to); !d.Allowed {
		return d
	}
	if d := e.noWider(Read, to, from); !d.Allowed {
		return d
	}
	return allow("storage.delete on the old name, storage.write on the new")
}

// MayLink answers whether a hard or symbolic link may be made: write on the link,
// the target granted too, and nothing possible through the link that isn't
// possible at the target. The target is the path that the link leads to, resolved.
func (e *Enforcer) MayLink(link, target string) Decision {
	if d := e.MayPath(Write, link); !d.Allowed {
		return d
	}
	read, write := e.MayPath(Read, target), e.MayPath(Write, target)
	if !read.Allowed && !write.Allowed {
		return read
	}
	for _, mode := range []Mode{Read, Write} {
		if d := e.noWider(mode, link, target); !d.Allowed {
			return d
		}
	}
	return allow("storage.write on the link, its target granted")
}

// noWider denies a new name that allows a mode which the old one does not.
func (e *Enforcer) noWider(mode Mode, newName, oldName string) Decision {
	if !e.MayPath(mode, newName).Allowed {
		return allow("")
	}
	return e.MayPath(mode, oldName)
}

// IOCeilings are the ceilings of the grant, for a rate limiter; a caller gets
// its own copy.
func (e *Enforcer) IOCeilings() Ceilings { return e.ceilings.clone() }

// MaySustainIO answers whether a rate may be sustained, in operations and read
// bytes per second: it may if it is within every ceiling that is set (§5.2).
func (e *Enforcer) MaySustainIO(iops, readBPS uint64) Decision {
	if c := e.ceilings.MaxIOPS; c != nil && iops > *c {
		return deny(fmt.Sprintf("storage.max_iops: %d", iops), "%d operations a second exceed storage.max_iops, %d", iops, *c)
	}
	if c := e.ceilings.MaxReadBPS; c != nil && readBPS > *c {
		return deny(fmt.Sprintf("storage.max_read_bps: %d", readBPS), "%d bytes a second exceed storage.max_read_bps, %d", readBPS, *c)
	}
	return allow("within every ceiling that is set")
}
