package grant

import (
	"fmt"
	"strings"

	"github.com/joulebox/joulebox"
)

// Builder makes a Set from command line flags. Each method takes what one flag
// holds; its error names the flag. The zero Builder grants nothing.
type Builder struct {
	set    Set
	kv     string // the direction that was chosen, as in "rw"
	all    bool   // kv without a prefix was asked for
	maxSet bool   // process.max_processes was stated
}

// NewBuilder starts from grants that were read from a file; flags add to them.
func NewBuilder(from Set) *Builder {
	b := &Builder{set: from.clone(), maxSet: from.Process.Exec}
	if from.KV.Read || from.KV.Write {
		b.kv, b.all = kvText(from.KV), len(from.KV.Prefixes) == 0
	}
	return b
}

// Build normalizes, fills budgets that weren't set, and validates.
func (b *Builder) Build(defaults Compute) (Set, error) {
	return b.set.clone().finish(defaults, b.maxSet)
}

func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// Read adds a directory with all below it, or a glob as it is, to storage.read.
func (b *Builder) Read(s string) error { return addTree(&b.set.Storage.Read, "--read", s) }

// Write adds likewise to storage.write; it doesn't imply read.
func (b *Builder) Write(s string) error { return addTree(&b.set.Storage.Write, "--write", s) }

// Delete adds likewise to storage.delete.
func (b *Builder) Delete(s string) error { return addTree(&b.set.Storage.Delete, "--delete", s) }

func addTree(to *[]string, flag, s string) error {
	g, err := normalGlob(s)
	if err != nil {
		return flagError(flag, err)
	}
	*to = append(*to, g)
	if !strings.Contains(g, "*") {
		*to = append(*to, strings.TrimSuffix(g, "/")+"/**")
	}
	return nil
}

// Net adds an endpoint, host:port, or a preset such as "@npm".
func (b *Builder) Net(s string) error {
	list, err := expandEndpoint(s)
	b.set.Network.Outbound = append(b.set.Network.Outbound, list...)
	return flagError("--net", err)
}

// Inbound accepts connections from outside.
func (b *Builder) Inbound() { b.set.Network.Inbound = true }

// KV reads "r", "w" or "rw", with ":prefix" to narrow it. The standard has one
// list of prefixes for both directions, so flags that would widen each other are
// refused.
func (b *Builder) KV(s string) error {
	dir, prefix, narrow := strings.Cut(s, ":")
	if dir != "r" && dir != "w" && dir != "rw" {
		return fmt.Errorf("--kv: got %q, want r, w or rw, then :PREFIX to narrow it", s)
	}
	if narrow && prefix == "" {
		return fmt.Errorf("--kv: got %q with an empty prefix; leave the colon out for the whole keyspace", s)
	}
	if b.kv != "" && (b.kv != dir || b.all == narrow) {
		return fmt.Errorf("--kv: got %q after %q; one list of prefixes holds for both directions, so use one direction for all, and prefixes for all or none", s, b.kvSoFar())
	}
	b.kv, b.all = dir, !narrow
	b.set.KV.Read = strings.Contains(dir, "r")
	b.set.KV.Write = strings.Contains(dir, "w")
	if narrow {
		b.set.KV.Prefixes = append(b.set.KV.Prefixes, Prefix(prefix))
	}
	return nil
}

func (b *Builder) kvSoFar() string {
	if b.all {
		return b.kv
	}
	return b.kv + ":PREFIX"
}

func kvText(kv KV) (s string) {
	if kv.Read {
		s += "r"
	}
	if kv.Write {
		s += "w"
	}
	return s
}

// Log grants host.logging.
func (b *Builder) Log() { b.set.Host.Logging = true }

// Clock grants host.clock.
func (b *Builder) Clock() { b.set.Host.Clock = true }

// Random grants host.random.
func (b *Builder) Random() { b.set.Host.Random = true }

// Inference grants host.inference.
func (b *Builder) Inference() { b.set.Host.Inference = true }

// SIMD grants the device class Simd.
func (b *Builder) SIMD() { b.set.Compute.Devices = append(b.set.Compute.Devices, joulebox.SIMD) }

// Device grants a device class by its name, as in "Gpu".
func (b *Builder) Device(s string) error {
	c, err := joulebox.ParseDeviceClass(s)
	if err == nil {
		b.set.Compute.Devices = append(b.set.Compute.Devices, c)
	}
	return flagError("--device", err)
}

// Timeout sets cpu_time_ms from "30s" or "500ms".
func (b *Builder) Timeout(s string) error {
	return setBudget(&b.set.Compute.CPUTimeMS, "--timeout", s, ParseTime)
}

// Memory sets memory_bytes from "64MiB" or a number of bytes.
func (b *Builder) Memory(s string) error {
	return setBudget(&b.set.Compute.MemoryBytes, "--memory", s, ParseBytes)
}

// Energy sets energy_budget_uj from "5J" or "200mJ".
func (b *Builder) Energy(s string) error {
	return setBudget((*uint64)(&b.set.Compute.EnergyBudgetUJ), "--energy", s, ParseEnergy)
}

func setBudget(to *uint64, flag, s string, parse func(string) (uint64, error)) error {
	v, err := parse(s)
	if err == nil && v == 0 {
		err = fmt.Errorf("got %q; with 0 nothing could run", s)
	}
	if err != nil {
		return flagError(flag, err)
	}
	*to = v
	return nil
}

// MaxIOPS sets the ceiling on operations per second.
func (b *Builder) MaxIOPS(v uint64) { b.set.Storage.MaxIOPS = &v }

// MaxReadBPS sets the ceiling on bytes read per second, from "10MiB" or a number.
func (b *Builder) MaxReadBPS(s string) error {
	v, err := ParseBytes(s)
	if err == nil {
		b.set.Storage.MaxReadBPS = &v
	}
	return flagError("--max-read-bps", err)
}
