package host

import (
	"strings"

	"github.com/joulebox/joulebox/internal/wasi"
)

// relativePreopens shows what is open already under names relative to the unit's
// working directory, since WASI has no other way to say where that is: C programs
// find "data/x" beneath a preopen called "data", and any relative name beneath
// one called ".". They open nothing that the list doesn't. Such programs take a
// leading slash off before they compare, so a name that would then be another
// preopen's is left out: a relative name must not make an absolute one ambiguous.
func (s *storage) relativePreopens(list []wasi.Preopen) (more []wasi.Preopen) {
	wd := s.b.config.WorkDir
	if wd == "" {
		return nil
	}
	names := map[string]string{} // by guest path
	taken := map[string]bool{}
	for _, p := range list {
		taken[strings.TrimPrefix(p.Name, "/")] = true
		switch {
		case holds(p.Name, wd):
			names[wd] = "."
		case holds(wd, p.Name):
			names[p.Name] = strings.TrimPrefix(strings.TrimPrefix(p.Name, wd), "/")
		}
	}
	for _, p := range append(list, wasi.Preopen{Name: wd}) {
		name, ok := names[p.Name]
		if !ok || taken[strings.TrimPrefix(name, ".")] {
			continue
		}
		delete(names, p.Name)
		// A working directory that isn't there is no reason not to run.
		if d, err := s.preopen(p.Name); err == nil {
			more = append(more, wasi.Preopen{Name: name, Dir: d})
		}
	}
	return more
}
