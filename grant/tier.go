package grant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
)

// Artifact is the kind of thing that runs.
type Artifact uint8

// The artifacts.
const (
	WASM   Artifact = iota // a WebAssembly module
	Native                 // an ELF or a script within an image
	Guest                  // a bootable guest
)

// Request is what the required tier depends on: the grants, and what a unit's
// placement and its host add to them. The zero Request is an untrusted WASM
// unit on a host with a single tenant.
type Request struct {
	Grants   Set
	Artifact Artifact
	// Trusted is the operator's word for the code; the default is untrusted.
	Trusted bool
	// Sensitive is contention "sensitive": a neighbour on shared I/O would matter.
	Sensitive bool
	// Boundary is "", "machine" or "kernel".
	Boundary string
	// Passthrough lists classes whose device is assigned directly.
	Passthrough []joulebox.DeviceClass
	// Confidential asks for memory encryption and verified evidence.
	Confidential bool
	// Locality is set if a region and jurisdiction are demanded.
	Locality bool
	// MultiTenant is set on a host that serves several tenants.
	MultiTenant bool
	// DiskKV is set if the key-value store is on a disk that others share.
	DiskKV bool
	// Limits are the ceilings that the host states. A granted ceiling above them,
	// or on a host that states none, doesn't count.
	Limits Ceilings
}

// Reason is one row of the tier rules that applies to a request.
type Reason struct {
	Tier joulebox.Tier `json:"tier"`
	Text string        `json:"text"`
}

// RequiredTier is the lowest tier whose guarantees satisfy the request (§2.2),
// and every row that applies, highest first. A host runs at exactly that tier
// or declines (§1.1).
func RequiredTier(r Request) (joulebox.Tier, []Reason) {
	reasons := slices.Concat(r.trustRows(), r.grantRows(), r.contentionRows(), r.placementRows())
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(b.Tier, a.Tier) })
	return reasons[0].Tier, reasons
}

// trustRows always hold at least one row.
func (r Request) trustRows() []Reason {
	native := r.Artifact != WASM
	switch {
	case r.Artifact == Guest:
		return []Reason{{joulebox.S4, "a bootable guest needs a machine of its own"}}
	case native && !r.Trusted:
		return []Reason{{joulebox.S3, "untrusted native code has no managed runtime, so it needs a partition"}}
	case native:
		return []Reason{{joulebox.S1, "trusted native code never runs bare: denial and budgets hold on every rung (§1.2)"}}
	case !r.Trusted:
		return []Reason{{joulebox.S2, "untrusted WASM needs a metered, capped runtime"}}
	}
	rows := []Reason{{joulebox.S0, "trusted WASM that is granted nothing but compute"}}
	if text := r.Grants.resources(); text != "" {
		rows[0] = Reason{joulebox.S1, "trusted WASM with " + text + " must not have ambient authority"}
	}
	return rows
}

// resources names the first member beyond compute that grants something a
// trusted unit needs S1 for.
func (s Set) resources() string {
	switch {
	case s.Storage.any():
		return "storage"
	case len(s.Network.Outbound) > 0 || s.Network.Inbound:
		return "network"
	case s.KV.Read || s.KV.Write:
		return "kv"
	case s.Host != Host{}:
		return "host services"
	}
	return ""
}

func (s Storage) any() bool { return len(s.Read)+len(s.Write)+len(s.Delete) > 0 }

// grantRows are the minimum tiers that §5 fixes for capabilities.
func (r Request) grantRows() (rows []Reason) {
	add := func(format string, args ...any) {
		rows = append(rows, Reason{joulebox.S2, fmt.Sprintf(format, args...)})
	}
	for _, c := range r.Grants.Compute.Devices {
		if c > joulebox.SIMD {
			add("device class %v is beyond Cpu and Simd (§5.1)", c)
		}
	}
	if r.Grants.Process.Exec {
		add("process.exec crosses a brokered host boundary (§5.5)")
	}
	if r.Grants.Browser.Enabled {
		add("browser.enabled (§5.6)")
	}
	if r.Grants.Display.Enabled {
		add("display.enabled (§5.7)")
	}
	return rows
}

// contentionRows are the side channel of §2.4: shared I/O is bounded by ceilings
// that count, or partitioned at S3.
func (r Request) contentionRows() (rows []Reason) {
	if r.Grants.Storage.counts(r.Limits) {
		return nil
	}
	if r.Sensitive {
		rows = append(rows, Reason{joulebox.S3, "contention is sensitive and no I/O ceiling counts (§2.4)"})
	}
	if r.MultiTenant && !r.Trusted {
		if r.Grants.Storage.any() {
			rows = append(rows, Reason{joulebox.S3, "an untrusted unit with storage among several tenants and no I/O ceiling that counts (§2.4)"})
		}
		if kv := r.Grants.KV; r.DiskKV && (kv.Read || kv.Write) {
			rows = append(rows, Reason{joulebox.S3, "an untrusted unit with kv on a disk among several tenants and no I/O ceiling that counts (§2.4)"})
		}
	}
	return rows
}

// counts reports whether both ceilings are set and within what the host states.
func (c Ceilings) counts(limits Ceilings) bool {
	within := func(v, limit *uint64) bool { return v != nil && limit != nil && *v <= *limit }
	return within(c.MaxIOPS, limits.MaxIOPS) && within(c.MaxReadBPS, limits.MaxReadBPS)
}

func (r Request) placementRows() (rows []Reason) {
	switch r.Boundary {
	case "machine":
		rows = append(rows, Reason{joulebox.S4, "the boundary asked for is a machine"})
	case "kernel":
		rows = append(rows, Reason{joulebox.S5, "the boundary asked for is a guest kernel"})
	}
	for _, c := range r.Passthrough {
		rows = append(rows, Reason{joulebox.S5, fmt.Sprintf("direct assignment of %v (§5.1)", c)})
	}
	if r.Confidential {
		rows = append(rows, Reason{joulebox.S6, "confidential compute (§7.6)"})
	}
	if r.Locality {
		rows = append(rows, Reason{joulebox.S7, "a locality is demanded (§7.7)"})
	}
	return rows
}

// Needs names the granted members that need a mechanism of their own, in the
// order of §5, so that a host without one can decline by name.
func (s Set) Needs() (needs []string) {
	for _, c := range s.Compute.Devices {
		if c > joulebox.CPU {
			needs = append(needs, "compute.devices "+c.String())
		}
	}
	for _, n := range []struct {
		granted bool
		name    string
	}{
		{s.Storage.any(), "storage"},
		{s.Storage.MaxIOPS != nil, "storage.max_iops"},
		{s.Storage.MaxReadBPS != nil, "storage.max_read_bps"},
		{len(s.Network.Outbound) > 0, "network.outbound"},
		{s.Network.Inbound, "network.inbound"},
		{s.KV.Read || s.KV.Write, "kv"},
		{s.Host.Logging, "host.logging"},
		{s.Host.Clock, "host.clock"},
		{s.Host.Random, "host.random"},
		{s.Host.Inference, "host.inference"},
		{s.Process.Exec, "process.exec"},
		{s.Browser.Enabled, "browser.enabled"},
		{s.Display.Enabled, "display.enabled"},
		{s.Display.Enabled && s.Display.VNC, "display.vnc"},
	} {
		if n.granted {
			needs = append(needs, n.name)
		}
	}
	return needs
}
