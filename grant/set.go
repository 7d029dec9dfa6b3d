package grant

import (
	"github.com/joulebox/joulebox"
)

// MaxInteger is the largest integer that a grant may hold, 2^53-1: above it
// RFC 8785 writes distinct integers alike, and two grants would share an id.
const MaxInteger = 1<<53 - 1

// Set is a grant set (§5): all that a unit may touch. The zero Set grants
// nothing but isn't valid, since a run needs budgets and the Cpu class.
type Set struct {
	Compute Compute `json:"compute"`
	Storage Storage `json:"storage"`
	Network Network `json:"network"`
	KV      KV      `json:"kv"`
	Host    Host    `json:"host"`
	Process Process `json:"process"`
	Browser Browser `json:"browser"`
	Display Display `json:"display"`
}

// Compute is the heterogeneity clause (§5.1). Budgets are hard and never zero.
type Compute struct {
	// Devices in the order of §2.3, without repeats, CPU always among them.
	Devices []joulebox.DeviceClass `json:"devices"`
	// EnergyBudgetUJ is the joule budget of the run, in microjoules.
	EnergyBudgetUJ joulebox.Microjoules `json:"energy_budget_uj"`
	// CPUTimeMS bounds wall time and the tree's summed CPU time, in milliseconds.
	CPUTimeMS uint64 `json:"cpu_time_ms"`
	// MemoryBytes caps resident memory, in bytes.
	MemoryBytes uint64 `json:"memory_bytes"`
}

// Storage holds an allow-list of globs for each mode (§5.2).
type Storage struct {
	Read   []string `json:"read"`
	Write  []string `json:"write"`
	Delete []string `json:"delete"`
	Ceilings
}

// Ceilings bound sustained I/O; nil does not bound that dimension (§5.2) and
// is left out of the canonical form.
type Ceilings struct {
	// MaxIOPS is operations per second.
	MaxIOPS *uint64 `json:"max_iops,omitzero"`
	// MaxReadBPS is bytes read per second.
	MaxReadBPS *uint64 `json:"max_read_bps,omitzero"`
}

// Network is an allow-list of host:port endpoints (§5.3).
type Network struct {
	Outbound []string `json:"outbound"`
	Inbound  bool     `json:"inbound"`
}

// KV gates key-value access by direction and key prefix (§5.4). No prefixes
// with a direction granted is the whole keyspace.
type KV struct {
	Read     bool     `json:"read"`
	Write    bool     `json:"write"`
	Prefixes []Prefix `json:"prefixes"`
}

// Host names the host services (§5.4).
type Host struct {
	Logging   bool `json:"logging"`
	Clock     bool `json:"clock"`
	Random    bool `json:"random"`
	Inference bool `json:"inference"`
}

// Process governs subprocesses (§5.5). Names are advisory; hashes bind.
type Process struct {
	Exec         bool          `json:"exec"`
	Programs     []string      `json:"programs"`
	AllowHashes  []joulebox.ID `json:"allow_hashes,omitempty"`
	DenyHashes   []joulebox.ID `json:"deny_hashes,omitempty"`
	MaxProcesses uint32        `json:"max_processes"`
}

// Browser governs navigation by origin (§5.6).
type Browser struct {
	Enabled  bool     `json:"enabled"`
	Origins  []string `json:"origins"`
	Headless bool     `json:"headless"`
}

// Display governs the framebuffer, in pixels, and its remote export (§5.7).
type Display struct {
	Enabled   bool   `json:"enabled"`
	VNC       bool   `json:"vnc"`
	MaxWidth  uint32 `json:"max_width"`
	MaxHeight uint32 `json:"max_height"`
}

// Canonical is the JCS form (§4) that the grants id is taken over. An invalid
// set has none: the error is [Errors].
func (s Set) Canonical() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s.canonical()
}

// ID is the grants id (§3): the content address of Canonical.
func (s Set) ID() (joulebox.ID, error) {
	b, err := s.Canonical()
	if err != nil {
		return joulebox.ID{}, err
	}
	return joulebox.Sum(b), nil
}

// Empty is the set that grants nothing (deny by default, §1.2), with the
// budgets that every run needs and the Cpu class that is implicitly present.
func Empty(budgets Compute) Set {
	budgets.Devices = []joulebox.DeviceClass{joulebox.CPU}
	return Set{Compute: budgets}
}
