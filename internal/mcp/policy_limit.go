package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

// limit refuses grants past the policy, and names every argument that is past it.
func (p Policy) limit(s grant.Set) error {
	o := over{max: p.Max}
	o.compute(s.Compute)
	o.storage(s.Storage)
	o.each("network_outbound", s.Network.Outbound, p.Max.Network.Outbound, equal)
	o.flag("network_inbound", s.Network.Inbound, p.Max.Network.Inbound)
	o.kv(s.KV)
	o.flag("logging", s.Host.Logging, p.Max.Host.Logging)
	o.flag("clock", s.Host.Clock, p.Max.Host.Clock)
	o.flag("random", s.Host.Random, p.Max.Host.Random)
	o.flag("inference", s.Host.Inference, p.Max.Host.Inference)
	o.process(s.Process)
	o.browser(s.Browser)
	o.display(s.Display)
	if len(o.lines) == 0 {
		return nil
	}
	hint := "ask for less; only the operator can allow more, with joulebox mcp --policy FILE"
	return &refused{Message: "past what the operator allows:\n" + strings.Join(o.lines, "\n"), Hint: hint}
}

// over collects what is past the policy.
type over struct {
	max   grant.Set
	lines []string
}

func (o *over) add(name, format string, args ...any) {
	o.lines = append(o.lines, name+": "+fmt.Sprintf(format, args...))
}

func (o *over) flag(name string, got, most bool) {
	if got && !most {
		o.add(name, "can't be granted here")
	}
}

func (o *over) number(name string, got, most uint64) {
	if got > most {
		o.add(name, "got %d, want at most %d", got, most)
	}
}

func equal(got, allowed string) bool { return got == allowed }

// each refuses entries that no allowed entry covers.
func (o *over) each(name string, got, allowed []string, covers func(got, allowed string) bool) {
	for i, g := range got {
		if slices.ContainsFunc(allowed, func(a string) bool { return covers(g, a) }) {
			continue
		}
		what := "none"
		if len(allowed) > 0 {
			what = "what lies within " + strings.Join(allowed, ", ")
		}
		o.add(fmt.Sprintf("%s[%d]", name, i), "got %q, want %s", g, what)
	}
}

func (o *over) compute(c grant.Compute) {
	for _, d := range c.Devices {
		if !slices.Contains(o.max.Compute.Devices, d) {
			o.add("devices", "%v can't be granted here", d)
		}
	}
	o.number("energy_budget_uj", uint64(c.EnergyBudgetUJ), uint64(o.max.Compute.EnergyBudgetUJ))
	o.number("cpu_time_ms", c.CPUTimeMS, o.max.Compute.CPUTimeMS)
	o.number("memory_bytes", c.MemoryBytes, o.max.Compute.MemoryBytes)
}

func (o *over) storage(s grant.Storage) {
	o.each("storage_read", s.Read, o.max.Storage.Read, within)
	o.each("storage_write", s.Write, o.max.Storage.Write, within)
	o.each("storage_delete", s.Delete, o.max.Storage.Delete, within)
	if m := o.max.Storage.MaxIOPS; m != nil && s.MaxIOPS != nil {
		o.number("max_iops", *s.MaxIOPS, *m)
	}
	if m := o.max.Storage.MaxReadBPS; m != nil && s.MaxReadBPS != nil {
		o.number("max_read_bps", *s.MaxReadBPS, *m)
	}
}

// within reports that every path that the glob covers is covered by the allowed
// one. It may say no where the answer is yes, never the other way round: the two
// are alike, or the glob is one plain path, or all that it covers lies below the
// directory whose tree is allowed.
func within(glob, allowed string) bool {
	if glob == allowed || allowed == "**" {
		return true
	}
	g, err := grant.ParseGlob(glob)
	if err != nil {
		return false
	}
	a, err := grant.ParseGlob(allowed)
	if err != nil {
		return false
	}
	if g.Literal() {
		return a.Match(glob)
	}
	tree, ok := strings.CutSuffix(allowed, "/**")
	if !ok || strings.Contains(tree, "*") || glob == "**" {
		return false
	}
	// What the glob covers begins with its text up to the first star, and a star
	// stands for something: /data* isn't below /data, /data/* is.
	return strings.HasPrefix(glob[:strings.IndexByte(glob, '*')], tree+"/")
}

func (o *over) kv(k grant.KV) {
	o.flag("kv_read", k.Read, o.max.KV.Read)
	o.flag("kv_write", k.Write, o.max.KV.Write)
	allowed := o.max.KV.Prefixes
	if len(allowed) == 0 || !k.Read && !k.Write {
		return
	}
	if len(k.Prefixes) == 0 {
		o.add("kv_prefixes", "not set, want some that begin with %s", prefixList(allowed))
	}
	for i, p := range k.Prefixes {
		begins := func(a grant.Prefix) bool { return strings.HasPrefix(string(p), string(a)) }
		if !slices.ContainsFunc(allowed, begins) {
			o.add(fmt.Sprintf("kv_prefixes[%d]", i), "got %q, want one that begins with %s", string(p), prefixList(allowed))
		}
	}
}

func prefixList(list []grant.Prefix) string {
	quoted := make([]string, len(list))
	for i, p := range list {
		quoted[i] = fmt.Sprintf("%q", string(p))
	}
	return strings.Join(quoted, " or ")
}

func (o *over) process(p grant.Process) {
	m := o.max.Process
	o.flag("exec", p.Exec, m.Exec)
	if !p.Exec || !m.Exec {
		return
	}
	o.number("max_processes", uint64(p.MaxProcesses), uint64(m.MaxProcesses))
	if len(m.AllowHashes) == 0 {
		o.each("programs", p.Programs, m.Programs, within)
		return
	}
	// Where the operator lists hashes they are what binds, so a call must, too.
	if len(p.AllowHashes) == 0 {
		o.add("allow_hashes", "not set, want some of %s", idList(m.AllowHashes))
	}
	for i, id := range p.AllowHashes {
		if !slices.Contains(m.AllowHashes, id) {
			o.add(fmt.Sprintf("allow_hashes[%d]", i), "got %s, want one of %s", id, idList(m.AllowHashes))
		}
	}
}

func idList(list []joulebox.ID) string {
	texts := make([]string, len(list))
	for i, id := range list {
		texts[i] = id.String()
	}
	return strings.Join(texts, ", ")
}

func (o *over) browser(b grant.Browser) {
	o.flag("browser", b.Enabled, o.max.Browser.Enabled)
	if b.Enabled && o.max.Browser.Enabled {
		o.each("browser_origins", b.Origins, o.max.Browser.Origins, equal)
		if o.max.Browser.Headless && !b.Headless {
			o.add("browser_headless", "not set, want true: drawing on a screen can't be granted here")
		}
	}
}

func (o *over) display(d grant.Display) {
	o.flag("display", d.Enabled, o.max.Display.Enabled)
	if d.Enabled && o.max.Display.Enabled {
		o.flag("display_vnc", d.VNC, o.max.Display.VNC)
		o.number("display_max_width", uint64(d.MaxWidth), uint64(o.max.Display.MaxWidth))
		o.number("display_max_height", uint64(d.MaxHeight), uint64(o.max.Display.MaxHeight))
	}
}
