package cli

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// collapsed are paths that a mode takes: whole folders, and single files.
type collapsed struct {
	trees map[string]bool
	files map[string]bool
	// wide are folders that would take too much with them to be proposed.
	wide map[string]bool
	// tooWide says which those are.
	tooWide func(dir string) bool
}

func newCollapsed(tooWide func(string) bool) *collapsed {
	return &collapsed{trees: map[string]bool{}, files: map[string]bool{}, wide: map[string]bool{}, tooWide: tooWide}
}

// several is from how many entries of a folder on the folder is proposed.
const several = 4

func (c *collapsed) add(at string, folder bool) {
	switch {
	case !folder:
		c.files[at] = true
	case c.tooWide(at):
		c.wide[at] = true
	default:
		c.trees[at] = true
	}
}

// collapse replaces several entries of a folder by the folder, from below, and drops
// what a folder has within it.
func (c *collapsed) collapse() {
	for changed := true; changed; {
		c.drop()
		changed = false
		entries := map[string]int{}
		for at := range maps.Keys(c.files) {
			entries[path.Dir(at)]++
		}
		for at := range maps.Keys(c.trees) {
			entries[path.Dir(at)]++
		}
		for dir, n := range entries {
			if n >= several && !c.tooWide(dir) {
				c.trees[dir], changed = true, true
			}
		}
	}
}

func (c *collapsed) drop() {
	within := func(at string, _ bool) bool {
		for dir := path.Dir(at); ; dir = path.Dir(dir) {
			if c.trees[dir] {
				return true
			}
			if dir == "/" || dir == "." {
				return false
			}
		}
	}
	maps.DeleteFunc(c.files, func(at string, _ bool) bool { return c.trees[at] || within(at, true) })
	maps.DeleteFunc(c.trees, within)
}

// globs are the list of a grant, flags what the flags take.
func (c *collapsed) globs() (list []string) {
	for _, at := range c.paths() {
		list = append(list, at)
		if c.trees[at] {
			list = append(list, at+"/**")
		}
	}
	return list
}

func (c *collapsed) paths() []string {
	return slices.Sorted(maps.Keys(merged(c.trees, c.files)))
}

func merged(a, b map[string]bool) map[string]bool {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// tooWide reports whether a folder holds more than one program's business: the root,
// what lies at the top, where people's folders are, a person's folder as a whole, and
// what is above where the program was started.
func tooWide(workDir string, homes ...string) func(string) bool {
	return func(dir string) bool {
		switch {
		case slices.Contains(homes, dir) || dir == "/home" || dir == "/":
			return true
		case dir == workDir:
			return false
		case strings.Count(dir, "/") == 1 || strings.HasPrefix(workDir, dir+"/"):
			return true
		}
		return slices.Contains([]string{"/var/lib", "/var/cache", "/var/log", "/var/tmp", "/var/spool"}, dir) || path.Dir(dir) == "/home"
	}
}
