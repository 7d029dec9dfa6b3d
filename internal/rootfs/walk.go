package rootfs

import (
	"fmt"
	"strings"
)

// walk resolves folders below the root, as a process would whose root it is.
type walk struct {
	*tree
	make  bool            // folders that aren't there
	own   map[string]bool // paths at which a link isn't followed but ends the walk
	links int
}

// dir follows a path to a folder; nil if there is none.
func (w *walk) dir(path string) (*node, error) {
	at, err := w.follow(w.root, path, path)
	if err != nil || at == nil {
		return nil, err
	}
	return at, nil
}

// follow goes on from a folder. Lexical is the path that is asked for, if rest is
// still a part of it, and else empty.
func (w *walk) follow(at *node, rest, lexical string) (*node, error) {
	done := 0
	for seg := range strings.SplitSeq(rest, "/") {
		done += len(seg) + 1
		var err error
		if at, err = w.step(at, seg, lexical[:min(max(done-1, 0), len(lexical))]); err != nil || at == nil {
			return nil, err
		}
	}
	return at, nil
}

func (w *walk) step(at *node, seg, lexical string) (*node, error) {
	switch seg {
	case "", ".":
		return at, nil
	case "..":
		if at.parent == nil {
			return at, nil
		}
		return at.parent, nil
	}
	next := at.children[seg]
	switch {
	case next == nil && !w.make:
		return nil, nil
	case next == nil:
		next = newDir(implied)
		if err := w.budget.entry(len(seg)); err != nil {
			return nil, err
		}
		return next, w.add(at, seg, next)
	case next.isDir():
		return next, nil
	case next.file != nil && !w.make:
		return nil, nil
	case next.file != nil:
		return nil, fmt.Errorf("is beneath %q, which is a file", seg)
	case lexical != "" && w.own[lexical]:
		return nil, nil
	}
	if w.links++; w.links > maxLinks {
		return nil, fmt.Errorf("%q: leads through more than %d links", seg, maxLinks)
	}
	if strings.HasPrefix(next.target, "/") {
		at = w.root
	}
	return w.follow(at, next.target, "")
}
