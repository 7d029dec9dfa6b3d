package grant

import (
	"fmt"
	"path"
	"strings"
)

// CanonicalPath is the one form in which a path is checked, opened, journaled
// and put on the receipt: absolute, without ".", "..", empty segments or a
// trailing slash. It resolves by text alone; links are the broker's to resolve
// beneath the granted root. Refused: an empty or relative path, NUL, and ".."
// that leaves the root.
func CanonicalPath(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("path: got an empty path, want an absolute one")
	case strings.IndexByte(p, 0) >= 0:
		return "", fmt.Errorf("path: %q holds a NUL byte", p)
	case p[0] != '/':
		return "", fmt.Errorf("path: %q is relative, want it to begin with /", p)
	case isCanonical(p):
		return p, nil
	case leavesRoot(p):
		return "", fmt.Errorf("path: %q leaves the root by \"..\"", p)
	}
	return path.Clean(p), nil
}

// isCanonical reports, without allocating, whether p is its own canonical form.
func isCanonical(p string) bool {
	if p == "/" {
		return true
	}
	if len(p) < 2 || p[0] != '/' || strings.IndexByte(p, 0) >= 0 {
		return false
	}
	for rest := p; rest != ""; {
		seg, tail := cutSegment(rest)
		if seg == "" || seg == "." || seg == ".." {
			return false
		}
		rest = tail
	}
	return true
}

// leavesRoot reports whether ".." climbs above the root at any point, which
// path.Clean would silently forgive.
func leavesRoot(p string) bool {
	depth := 0
	for rest := p; rest != ""; {
		seg, tail := cutSegment(rest)
		switch seg {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
		rest = tail
	}
	return false
}

// cutSegment splits "/seg/rest" into "seg" and "/rest".
func cutSegment(p string) (seg, rest string) {
	p = p[1:]
	if i := strings.IndexByte(p, '/'); i >= 0 {
		return p[:i], p[i:]
	}
	return p, ""
}
