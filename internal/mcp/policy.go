package mcp

import (
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
)

// Policy is the operator's word on what any call may be granted at the most. An
// agent asks; it never grants itself what isn't in here.
type Policy struct {
	Max      grant.Set     // the ceiling of every member
	Defaults grant.Compute // budgets of a call that sets none
	Mounts   []host.Mount  // host directories, by the paths that grants speak of
	Modules  []string      // host directories that a call may name modules in
	Output   int           // the most bytes of one stream that a result may hold
	Runs     int           // units at once; more wait for their turn
	Stated   bool          // an operator wrote it
}

// Budgets are what one run may use, and what it gets when it asks for none, where
// no policy says otherwise.
var Budgets = grant.Compute{
	Devices:        []joulebox.DeviceClass{joulebox.CPU, joulebox.SIMD},
	EnergyBudgetUJ: 1_000_000_000, // 1 kJ
	CPUTimeMS:      60_000,
	MemoryBytes:    256 << 20,
}

// Output caps, in bytes of one stream: small by default, since a client replaces
// what is too long by nothing at all.
const (
	defaultOutput = 4 << 10
	maxOutput     = 64 << 10
)

// DefaultPolicy holds where no operator has said more: compute, a private kv, the
// clock, randomness and logging. No disk, no network, no program.
func DefaultPolicy() Policy {
	max := grant.Empty(Budgets)
	max.Compute.Devices = slices.Clone(Budgets.Devices)
	max.KV = grant.KV{Read: true, Write: true}
	max.Host = grant.Host{Logging: true, Clock: true, Random: true}
	return Policy{Max: max, Defaults: Budgets, Output: maxOutput}
}

// fill adds what holds for every call: budgets that weren't asked for never pass
// the policy's, a unit with storage has the policy's ceilings, and what the
// operator denies by hash stays denied.
func (p Policy) fill(s *grant.Set) {
	if st := &s.Storage; len(st.Read)+len(st.Write)+len(st.Delete) > 0 {
		if st.MaxIOPS == nil {
			st.MaxIOPS = p.Max.Storage.MaxIOPS
		}
		if st.MaxReadBPS == nil {
			st.MaxReadBPS = p.Max.Storage.MaxReadBPS
		}
	}
	if s.Process.Exec {
		for _, id := range p.Max.Process.DenyHashes {
			if !slices.Contains(s.Process.DenyHashes, id) {
				s.Process.DenyHashes = append(s.Process.DenyHashes, id)
			}
		}
		slices.SortFunc(s.Process.DenyHashes, func(a, b joulebox.ID) int { return slices.Compare(a[:], b[:]) })
	}
}

// budgets are what a call gets that sets none: the defaults, within the most.
func (p Policy) budgets() grant.Compute {
	d, m := p.Defaults, p.Max.Compute
	d.EnergyBudgetUJ = min(d.EnergyBudgetUJ, m.EnergyBudgetUJ)
	d.CPUTimeMS = min(d.CPUTimeMS, m.CPUTimeMS)
	d.MemoryBytes = min(d.MemoryBytes, m.MemoryBytes)
	return d
}

// grantable reports whether a call can set a field to anything but its empty value.
func (p Policy) grantable(name string) bool {
	m := p.Max
	switch name {
	case "storage_read":
		return len(m.Storage.Read) > 0
	case "storage_write":
		return len(m.Storage.Write) > 0
	case "storage_delete":
		return len(m.Storage.Delete) > 0
	case "max_iops", "max_read_bps":
		return len(m.Storage.Read)+len(m.Storage.Write)+len(m.Storage.Delete) > 0
	case "network_outbound":
		return len(m.Network.Outbound) > 0
	case "network_inbound":
		return m.Network.Inbound
	case "kv":
		return m.KV.Read && m.KV.Write
	case "kv_read":
		return m.KV.Read
	case "kv_write":
		return m.KV.Write
	case "kv_prefixes":
		return m.KV.Read || m.KV.Write
	case "logging":
		return m.Host.Logging
	case "clock":
		return m.Host.Clock
	case "random":
		return m.Host.Random
	case "inference":
		return m.Host.Inference
	case "exec", "programs", "allow_hashes", "deny_hashes", "max_processes":
		return m.Process.Exec
	case "browser", "browser_origins", "browser_headless":
		return m.Browser.Enabled
	case "display", "display_max_width", "display_max_height":
		return m.Display.Enabled
	case "display_vnc":
		return m.Display.Enabled && m.Display.VNC
	}
	return true
}
