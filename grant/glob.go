package grant

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxGlob is PATH_MAX: a longer glob could cover no path that can be opened.
const maxGlob = 4096

// everything is the one glob that is not an absolute path.
const everything = "**"

// Glob is a compiled allow-glob. Matching allocates nothing and takes time
// bounded by the product of the lengths: a greedy leftmost search is exact for
// both kinds of star, so nothing backtracks.
type Glob struct {
	text string
	// all is the bare "**".
	all bool
	// groups are the runs of segments between "**"s. The first is anchored at
	// the root; the last at the end, unless the glob is open.
	groups [][]segment
	// open is a trailing "**": one or more segments must follow.
	open bool
	// base is the literal text before the first segment that has a star.
	base string
}

// segment is one segment of a glob: lead, then each of mid in order, then trail.
type segment struct {
	lead, trail string
	mid         []string
	star        bool
}

// ParseGlob compiles a canonical glob (§5.2). Refused: relative text but for a
// bare "**", "..", ".", empty segments, "?", "[", "{", backslash, and control
// or bidirectional characters, which would show another glob than they mean.
func ParseGlob(s string) (*Glob, error) {
	if s == everything {
		return &Glob{text: s, all: true, base: "/"}, nil
	}
	if err := checkGlob(s); err != nil {
		return nil, err
	}
	g := &Glob{text: s, groups: [][]segment{nil}, base: literalBase(s)}
	for rest := strings.TrimSuffix(s, "/"); rest != ""; {
		var seg string
		seg, rest = cutSegment(rest)
		g.open = seg == everything
		last := len(g.groups) - 1
		switch {
		case !g.open:
			g.groups[last] = append(g.groups[last], compileSegment(seg))
		case last == 0 || len(g.groups[last]) > 0:
			g.groups = append(g.groups, nil)
		}
	}
	return g, nil
}

// wildcards are what other glob languages give a meaning, and ours refuses.
const wildcards = `?[{\`

func checkGlob(s string) error {
	if len(s) > maxGlob {
		return fmt.Errorf("got a glob of %d bytes, want at most %d", len(s), maxGlob)
	}
	if s == "" || s[0] != '/' {
		return fmt.Errorf("got %q, want an absolute path; write /%s", s, s)
	}
	if i := strings.IndexAny(s, wildcards); i >= 0 {
		return fmt.Errorf(`got %q with %q, want only * and ** as wildcards; ?, [, { and \ are not in the language`, s, s[i])
	}
	if err := checkText(s); err != nil {
		return err
	}
	if !isCanonical(s) {
		if strings.Contains(s+"/", "/../") {
			return fmt.Errorf("got %q, want no \"..\"; write the path that is meant", s)
		}
		clean, err := CanonicalPath(s)
		if err != nil {
			return err
		}
		return fmt.Errorf("got %q, want the canonical form; write %q", s, clean)
	}
	return nil
}

// checkText refuses what would be shown to a reviewer as something else.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("got %q, want valid UTF-8", s)
	}
	for _, r := range s {
		if misleading(r) {
			return fmt.Errorf("got %q, want no control or bidirectional characters", s)
		}
	}
	return nil
}

func misleading(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// literalBase is the directory that holds everything the glob can cover, or
// the path itself if the glob has no star.
func literalBase(s string) string {
	star := strings.IndexByte(s, '*')
	if star < 0 {
		return s
	}
	if slash := strings.LastIndexByte(s[:star], '/'); slash > 0 {
		return s[:slash]
	}
	return "/"
}

func compileSegment(s string) segment {
	parts := strings.Split(s, "*")
	if len(parts) == 1 {
		return segment{lead: s}
	}
	g := segment{lead: parts[0], trail: parts[len(parts)-1], star: true}
	for _, p := range parts[1 : len(parts)-1] {
		if p != "" {
			g.mid = append(g.mid, p)
		}
	}
	return g
}

// String is the glob as it was written.
func (g *Glob) String() string { return g.text }

// Literal reports whether the glob has no star, so that it names one path.
func (g *Glob) Literal() bool { return !g.all && strings.IndexByte(g.text, '*') < 0 }
