package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/joulebox/joulebox/grant"
)

// access is one member of the grant set, as shown to people.
type access struct {
	Member  string   `json:"member"`
	Granted bool     `json:"granted"`
	Values  []string `json:"values,omitempty"` // what exactly; empty when the member is a plain yes or no
	Note    string   `json:"note,omitempty"`
}

// accesses goes through every member of §5 in its order, so that what is denied
// is shown as plainly as what is granted.
func accesses(s grant.Set) []access {
	list := []access{
		storageAccess("storage.read", s.Storage.Read), storageAccess("storage.write", s.Storage.Write), storageAccess("storage.delete", s.Storage.Delete),
		{Member: "network.outbound", Granted: len(s.Network.Outbound) > 0, Values: s.Network.Outbound},
		{Member: "network.inbound", Granted: s.Network.Inbound},
		kvAccess("kv.read", s.KV.Read, s.KV.Prefixes), kvAccess("kv.write", s.KV.Write, s.KV.Prefixes),
		{Member: "host.logging", Granted: s.Host.Logging},
		{Member: "host.clock", Granted: s.Host.Clock, Note: unless(s.Host.Clock, "reads a constant")},
		{Member: "host.random", Granted: s.Host.Random},
		{Member: "host.inference", Granted: s.Host.Inference},
		execAccess(s.Process),
		{Member: "browser", Granted: s.Browser.Enabled, Values: s.Browser.Origins},
		displayAccess(s.Display),
	}
	return list
}

func unless(granted bool, note string) string {
	if granted {
		return ""
	}
	return note
}

func storageAccess(member string, globs []string) access {
	a := access{Member: member, Granted: len(globs) > 0, Values: globs}
	for _, g := range globs {
		if strings.HasSuffix(g, "/*") {
			a.Note = g + " is one level; write " + g + "* for the tree"
		}
	}
	return a
}

func kvAccess(member string, granted bool, prefixes []grant.Prefix) access {
	a := access{Member: member, Granted: granted}
	if !granted {
		return a
	}
	for _, p := range prefixes {
		a.Values = append(a.Values, fmt.Sprintf("%q…", string(p)))
	}
	if len(prefixes) == 0 {
		a.Values = []string{"every key"}
	}
	return a
}

func execAccess(p grant.Process) access {
	a := access{Member: "process.exec", Granted: p.Exec, Values: append([]string{}, p.Programs...)}
	for _, id := range p.AllowHashes {
		a.Values = append(a.Values, id.String())
	}
	if p.Exec && len(p.AllowHashes) == 0 {
		a.Note = "names are advisory; hashes bind"
	}
	return a
}

func displayAccess(d grant.Display) access {
	a := access{Member: "display", Granted: d.Enabled}
	if d.Enabled {
		a.Values = []string{fmt.Sprintf("%dx%d", d.MaxWidth, d.MaxHeight)}
	}
	return a
}

// budgets are what bounds every run.
func budgets(s grant.Set) []string {
	c := s.Compute
	list := []string{
		formatEnergy(uint64(c.EnergyBudgetUJ)),
		(time.Duration(c.CPUTimeMS) * time.Millisecond).String() + " of wall and CPU time",
		formatBytes(c.MemoryBytes) + " of memory",
	}
	if v := s.Storage.MaxIOPS; v != nil {
		list = append(list, fmt.Sprintf("%d storage operations/s", *v))
	}
	if v := s.Storage.MaxReadBPS; v != nil {
		list = append(list, formatBytes(*v)+"/s read")
	}
	return list
}
