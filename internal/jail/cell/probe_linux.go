//go:build amd64 || arm64

package cell

import (
	"slices"
	"sync"
)

// probes are the names of what was tried.
type probes struct {
	mu   sync.Mutex
	seen []string
}

// add notes a name, and reports whether it is new.
func (p *probes) add(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, found := slices.BinarySearch(p.seen, name)
	if !found {
		p.seen = slices.Insert(p.seen, at, name)
	}
	return !found
}

func (p *probes) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}
