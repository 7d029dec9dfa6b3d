package grant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
)

// Explanation is what a request amounts to, for a person to judge before a run
// and for a program to read.
type Explanation struct {
	GrantsID joulebox.ID   `json:"grants_id"`
	Tier     joulebox.Tier `json:"tier"`
	TierName string        `json:"tier_name"`
	// Reasons are the rows of the tier rules that apply, highest first.
	Reasons []Reason `json:"reasons"`
	Granted []Line   `json:"granted"`
	Denied  []Line   `json:"denied"`
	// Needs names the granted members that a host needs a mechanism for.
	Needs []string `json:"needs"`
	// Notes say what a grant does not do though one might think so.
	Notes []string `json:"notes"`
}

// Line is one member of the grant and what it says.
type Line struct {
	Member string `json:"member"`
	Text   string `json:"text"`
}

// Explain says what a request may touch, at which tier and why. The error is
// that of an invalid grant set.
func Explain(r Request) (Explanation, error) {
	id, err := r.Grants.ID()
	if err != nil {
		return Explanation{}, err
	}
	x := Explanation{GrantsID: id, Needs: r.Grants.Needs()}
	x.Tier, x.Reasons = RequiredTier(r)
	x.TierName = x.Tier.Name()
	x.compute(r.Grants.Compute)
	x.storage(r.Grants.Storage)
	x.network(r.Grants.Network)
	x.kv(r.Grants.KV)
	x.host(r.Grants.Host)
	x.process(r.Grants.Process)
	x.browser(r.Grants.Browser)
	x.display(r.Grants.Display)
	x.notes(r)
	return x, nil
}

func (x *Explanation) line(granted bool, member, yes, no string) {
	if granted {
		x.Granted = append(x.Granted, Line{member, yes})
	} else {
		x.Denied = append(x.Denied, Line{member, no})
	}
}

func (x *Explanation) compute(c Compute) {
	x.line(true, "compute.devices", classList(c.Devices), "")
	x.line(true, "compute.energy_budget_uj", fmt.Sprintf("%d microjoules (%s)", c.EnergyBudgetUJ, joules(uint64(c.EnergyBudgetUJ))), "")
	x.line(true, "compute.cpu_time_ms", fmt.Sprintf("%d ms of wall time and of CPU time", c.CPUTimeMS), "")
	x.line(true, "compute.memory_bytes", fmt.Sprintf("%d bytes", c.MemoryBytes), "")
	var missing []joulebox.DeviceClass
	for _, class := range joulebox.DeviceClasses() {
		if !slices.Contains(c.Devices, class) {
			missing = append(missing, class)
		}
	}
	x.line(len(missing) == 0, "compute.devices", "every class", "no dispatch to "+classList(missing))
}

func (x *Explanation) storage(s Storage) {
	x.list("storage.read", s.Read, "nothing can be read")
	x.list("storage.write", s.Write, "nothing can be written")
	x.list("storage.delete", s.Delete, "nothing can be deleted or renamed")
	if s.MaxIOPS != nil {
		x.line(true, "storage.max_iops", fmt.Sprintf("at most %d operations a second", *s.MaxIOPS), "")
	}
	if s.MaxReadBPS != nil {
		x.line(true, "storage.max_read_bps", fmt.Sprintf("at most %d bytes read a second", *s.MaxReadBPS), "")
	}
}

// list quotes its entries, so that no character of theirs can mislead.
func (x *Explanation) list(member string, entries []string, none string) {
	if len(entries) == 0 {
		x.line(false, member, "", none)
	}
	for _, e := range entries {
		x.line(true, member, fmt.Sprintf("%q", e), "")
	}
}

func (x *Explanation) network(n Network) {
	x.list("network.outbound", n.Outbound, "no connection goes out, and no name is resolved")
	x.line(n.Inbound, "network.inbound", "connections are accepted", "no connection is accepted")
}

func (x *Explanation) kv(kv KV) {
	where := "any key"
	if len(kv.Prefixes) > 0 {
		quoted := make([]string, len(kv.Prefixes))
		for i, p := range kv.Prefixes {
			quoted[i] = fmt.Sprintf("%q", string(p))
		}
		where = "keys that begin with " + strings.Join(quoted, " or ")
	}
	x.line(kv.Read, "kv.read", where, "no key can be read")
	x.line(kv.Write, "kv.write", where, "no key can be written")
}

func (x *Explanation) host(h Host) {
	x.line(h.Logging, "host.logging", "log lines reach the host", "log lines are refused")
	x.line(h.Clock, "host.clock", "the wall clock can be read", "the clock reads a constant")
	x.line(h.Random, "host.random", "randomness can be drawn", "randomness is refused")
	x.line(h.Inference, "host.inference", "the host's model can be called", "no model can be called")
}

func (x *Explanation) process(p Process) {
	if !p.Exec {
		x.line(false, "process.exec", "", "no program can be spawned")
		return
	}
	x.line(true, "process.exec", fmt.Sprintf("at most %s at once", plural(int(p.MaxProcesses), "process")), "")
	x.list("process.programs", p.Programs, "no program by name")
	for _, id := range p.AllowHashes {
		x.line(true, "process.allow_hashes", id.String(), "")
	}
	for _, id := range p.DenyHashes {
		x.line(false, "process.deny_hashes", "", id.String())
	}
}

func (x *Explanation) browser(b Browser) {
	if !b.Enabled {
		x.line(false, "browser.enabled", "", "no browser")
		return
	}
	x.list("browser.origins", b.Origins, "no origin can be visited")
	x.line(!b.Headless, "browser.headless", "the browser may draw on a screen", "no drawing on a screen")
}

func (x *Explanation) display(d Display) {
	x.line(d.Enabled, "display.enabled", fmt.Sprintf("a surface of at most %dx%d pixels", d.MaxWidth, d.MaxHeight), "no display")
	if d.Enabled {
		x.line(d.VNC, "display.vnc", "the display may be exported", "no export of the display")
	}
}

func classList(list []joulebox.DeviceClass) string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.String()
	}
	return strings.Join(names, ", ")
}

// joules writes microjoules as joules, exactly.
func joules(uj uint64) string {
	s := fmt.Sprintf("%d.%06d", uj/1_000_000, uj%1_000_000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + " J"
}
