package host

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jail/cell"
	"github.com/joulebox/joulebox/internal/jail/execwatch"
	"github.com/joulebox/joulebox/internal/netstack"
)

// seen is told of each call that names something.
func (l *Learner) seen(s cell.Seen) {
	switch {
	case s.Address.IsValid():
		if !listens(s.PID, s.Address.Port()) {
			l.dial(s.Address)
		}
	case cell.HostShows(s.Path) && !s.Write && !s.Delete:
	default:
		l.file(NeededFile{Path: s.Path, Read: s.Read, Write: s.Write, Delete: s.Delete, Folder: s.Folder}, s.New)
	}
}

// listens reports whether anything of a unit listens at a port, whatever the address.
func listens(pid int, port uint16) bool {
	for _, family := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/net/" + family)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) > 3 && words[3] == "0A" && strings.HasSuffix(words[1], fmt.Sprintf(":%04X", port)) { // TCP_LISTEN
				return true
			}
		}
	}
	return false
}

// exec notes what runs.
func (l *Learner) exec(e execwatch.Exec, c *cell.Cell) {
	if !e.Entry {
		l.program(NeededProgram{e.Path, e.Hash, e.Role.String()})
	}
	l.count(c)
	if !cell.HostShows(e.Path) {
		l.file(NeededFile{Path: e.Path, Read: true}, false)
	}
}

// count notes how many processes there are beside the first.
func (l *Learner) count(c *cell.Cell) {
	if l == nil || c == nil {
		return
	}
	if n, err := c.Programs(); err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.processes = max(l.processes, n-1)
	}
}

// flow notes where a connection went. A name that leads into a network that isn't
// public takes its address beside it.
func (l *Learner) flow(f netstack.Flow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case f.Protocol == "dns":
		l.names[f.Endpoint] = true
		return
	case f.Protocol == "listen" || len(l.endpoints) >= mostSeen:
		return
	}
	l.endpoints[f.Endpoint] = true
	if !f.Address.IsValid() {
		return
	}
	only, err := grant.NewEnforcer(grant.Set{Compute: leastCompute, Network: grant.Network{Outbound: []string{f.Endpoint}}})
	if err == nil && !only.MayReach(f.Endpoint, f.Address.Addr()).Allowed {
		l.endpoints[f.Address.String()] = true
	}
}

// leastCompute makes a set of grants valid.
var leastCompute = grant.Compute{EnergyBudgetUJ: 1, CPUTimeMS: 1, MemoryBytes: 1 << 20}

// reach lets a unit that is watched reach everything.
type reach struct{ learner *Learner }

func (r reach) MayEgress(string) grant.Decision { return asSeen }
func (r reach) MayResolve(name string) grant.Decision {
	r.learner.mu.Lock()
	defer r.learner.mu.Unlock()
	if len(r.learner.names) < mostSeen {
		r.learner.names[name] = true
	}
	return asSeen
}
func (r reach) MayReach(string, netip.Addr) grant.Decision { return asSeen }
func (r reach) MayListen() grant.Decision                  { return grant.Decision{Reason: "nothing reaches in"} }

var asSeen = grant.Decision{Allowed: true, Reason: "it is watched"}
