package grant

import "strings"

// Match reports whether the glob covers a path in canonical form.
func (g *Glob) Match(canonical string) bool {
	if g.all {
		return true
	}
	rest := canonical
	if rest == "/" {
		rest = "" // the root has no segments
	}
	rest, ok := matchGroup(g.groups[0], rest)
	if !ok {
		return false
	}
	last := len(g.groups) - 1
	if last == 0 {
		return rest == ""
	}
	for _, group := range g.groups[1:last] {
		if rest, ok = findGroup(group, rest); !ok {
			return false
		}
	}
	if g.open {
		// The run before a trailing ** has no group after it: g.groups ends
		// with an empty one, and at least one segment must be left.
		return rest != ""
	}
	return endsWith(g.groups[last], rest)
}

// matchGroup matches the group at the very start and returns what follows.
func matchGroup(group []segment, rest string) (string, bool) {
	for i := range group {
		if rest == "" {
			return "", false
		}
		var seg string
		if seg, rest = cutSegment(rest); !group[i].match(seg) {
			return "", false
		}
	}
	return rest, true
}

// findGroup finds the leftmost place of the group. Leftmost is enough: it
// leaves the most for the groups that follow.
func findGroup(group []segment, rest string) (string, bool) {
	for {
		if after, ok := matchGroup(group, rest); ok {
			return after, true
		}
		if rest == "" {
			return "", false
		}
		_, rest = cutSegment(rest)
	}
}

// endsWith matches the group against the last segments of rest.
func endsWith(group []segment, rest string) bool {
	at := len(rest)
	for range group {
		if at = strings.LastIndexByte(rest[:at], '/'); at < 0 {
			return false
		}
	}
	_, ok := matchGroup(group, rest[at:])
	return ok
}

func (g *segment) match(s string) bool {
	if !g.star {
		return s == g.lead
	}
	if len(s) < len(g.lead)+len(g.trail) || !strings.HasPrefix(s, g.lead) || !strings.HasSuffix(s, g.trail) {
		return false
	}
	s = s[len(g.lead) : len(s)-len(g.trail)]
	for _, part := range g.mid {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}
