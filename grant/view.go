package grant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// View is one path that a unit is shown in a file system of its own, where the
// kernel and not a broker answers for each access. It holds whole folders and
// single files alone, so not every grant has one.
type View struct {
	// Path is canonical.
	Path string
	// Exact are the modes that hold for the path itself, by Mode.
	Exact [3]bool
	// Below are those that hold for everything beneath it.
	Below [3]bool
}

// Whole reports whether a mode holds for a folder and all that is in it.
func (v View) Whole(m Mode) bool { return v.Exact[m] && v.Below[m] }

// Views are the views of every storage grant, sorted by path, each path once. A
// glob that is finer than a folder has none, and is an error that names it: a
// mechanism that would grant more than it says is not used.
func (s Set) Views() ([]View, error) {
	at := map[string]*View{}
	for m, list := range [][]string{s.Storage.Read, s.Storage.Write, s.Storage.Delete} {
		for _, text := range list {
			path, below, err := viewOf(text)
			if err != nil {
				return nil, fmt.Errorf("storage.%s: %w", Mode(m), err)
			}
			v := at[path]
			if v == nil {
				v = &View{Path: path}
				at[path] = v
			}
			if below {
				v.Below[m] = true
			} else {
				v.Exact[m] = true
			}
		}
	}
	views := make([]View, 0, len(at))
	for _, v := range at {
		if err := v.check(); err != nil {
			return nil, err
		}
		views = append(views, *v)
	}
	slices.SortFunc(views, func(a, b View) int { return cmp.Compare(a.Path, b.Path) })
	return views, nil
}

// viewOf is the path of a glob that names one, or all beneath one.
func viewOf(text string) (path string, below bool, err error) {
	g, err := ParseGlob(text)
	if err != nil {
		return "", false, err
	}
	if g.Literal() {
		return text, false, nil
	}
	if path, ok := strings.CutSuffix(text, "/**"); ok && path == g.base {
		return path, true, nil
	}
	return "", false, fmt.Errorf("got %q, and a native unit's view is made of whole folders and single files; name one", text)
}

func (v *View) check() error {
	for m := range v.Below {
		if v.Below[m] && !v.Exact[m] {
			return fmt.Errorf("storage.%s: got %q without %q, and a native unit's view is made of whole folders; add it",
				Mode(m), v.Path+"/**", v.Path)
		}
	}
	return nil
}
