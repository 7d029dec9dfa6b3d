package host

import (
	"strings"

	"github.com/joulebox/joulebox/grant"
)

// Renaming a directory renames everything beneath it, so the decision on the two
// names isn't enough: what is beneath must not become possible under the new name
// where it wasn't under the old one.

// subtreeWider reports whether some mode would hold for a path beneath to that
// doesn't hold for all paths beneath from.
func subtreeWider(s grant.Storage, from, to string) bool {
	for _, globs := range [][]string{s.Read, s.Write, s.Delete} {
		below, all := false, false
		for _, g := range globs {
			b, _ := beneath(g, to)
			_, a := beneath(g, from)
			below, all = below || b, all || a
		}
		if below && !all {
			return true
		}
	}
	return false
}

// beneath says of a glob and a directory whether it can cover anything beneath
// the directory, and whether it covers all of it.
func beneath(glob, dir string) (some, all bool) {
	if glob == "**" {
		return true, true
	}
	segs := strings.Split(strings.Trim(glob, "/"), "/")
	at := map[int]bool{0: true} // how many segments of the glob the directory can have used
	skipStars(segs, at)
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if name != "" {
			at = step(segs, at, name)
		}
	}
	for i := range at {
		some = some || i < len(segs)
		all = all || i == len(segs)-1 && segs[i] == "**"
	}
	return some, all
}

// step moves every position past one name.
func step(segs []string, at map[int]bool, name string) map[int]bool {
	next := map[int]bool{}
	for i := range at {
		switch {
		case i == len(segs):
		case segs[i] == "**":
			next[i] = true
		case segmentMatches(segs[i], name):
			next[i+1] = true
		}
	}
	skipStars(segs, next)
	return next
}

// skipStars lets "**" stand for no segment, but at the end, where it is at least one.
func skipStars(segs []string, at map[int]bool) {
	for i, s := range segs {
		if at[i] && s == "**" && i+1 < len(segs) {
			at[i+1] = true
		}
	}
}

func segmentMatches(seg, name string) bool {
	if !strings.Contains(seg, "*") {
		return seg == name
	}
	g, err := grant.ParseGlob("/" + seg)
	return err == nil && g.Match("/"+name)
}
