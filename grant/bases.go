package grant

import (
	"cmp"
	"slices"
)

// Base is where the paths of a storage glob begin, for a host that hands out
// directories ahead of time.
type Base struct {
	// Path is the deepest directory that has no star, or the one path that is
	// named: then it may be a file.
	Path string
	// Exact is set if some glob names Path itself.
	Exact bool
	// Below is set if some glob covers paths below Path.
	Below bool
	// Modes says which modes have a glob that begins here, by Mode.
	Modes [3]bool
}

// Bases lists the bases of every storage glob, sorted by path, each path once.
func (s Set) Bases() []Base {
	at := map[string]*Base{}
	for m, list := range [][]string{s.Storage.Read, s.Storage.Write, s.Storage.Delete} {
		for _, text := range list {
			g, err := ParseGlob(text)
			if err != nil {
				continue // Validate refuses the set
			}
			b := at[g.base]
			if b == nil {
				b = &Base{Path: g.base}
				at[g.base] = b
			}
			b.Modes[m] = true
			b.Exact = b.Exact || g.Literal() || g.all
			b.Below = b.Below || !g.Literal()
		}
	}
	bases := make([]Base, 0, len(at))
	for _, b := range at {
		bases = append(bases, *b)
	}
	slices.SortFunc(bases, func(a, b Base) int { return cmp.Compare(a.Path, b.Path) })
	return bases
}
