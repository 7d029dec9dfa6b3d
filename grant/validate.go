package grant

import (
	"errors"
	"slices"

	"github.com/joulebox/joulebox"
)

// maxList bounds each list, so that a query's cost is bounded.
const maxList = 4096

// Validate reports everything that is wrong with the set, as [Errors].
func (s Set) Validate() error {
	var e Errors
	e.compute(s.Compute)
	e.globs("storage.read", s.Storage.Read)
	e.globs("storage.write", s.Storage.Write)
	e.globs("storage.delete", s.Storage.Delete)
	e.ceiling("storage.max_iops", s.Storage.MaxIOPS)
	e.ceiling("storage.max_read_bps", s.Storage.MaxReadBPS)
	each(&e, "network.outbound", s.Network.Outbound, ParseEndpoint)
	e.prefixes(s.KV.Prefixes)
	e.globs("process.programs", s.Process.Programs)
	e.hashes("process.allow_hashes", s.Process.AllowHashes)
	e.hashes("process.deny_hashes", s.Process.DenyHashes)
	each(&e, "browser.origins", s.Browser.Origins, ParseOrigin)
	return e.err()
}

func (e *Errors) compute(c Compute) {
	e.devices(c.Devices)
	e.budget("compute.energy_budget_uj", uint64(c.EnergyBudgetUJ), "microjoules")
	e.budget("compute.cpu_time_ms", c.CPUTimeMS, "milliseconds")
	e.budget("compute.memory_bytes", c.MemoryBytes, "bytes")
}

// devices demands the one spelling of a set of classes.
func (e *Errors) devices(list []joulebox.DeviceClass) {
	const field = "compute.devices"
	for i, c := range list {
		if _, err := c.MarshalText(); err != nil {
			e.add(index(field, i), "%v", err)
		}
	}
	if !slices.Contains(list, joulebox.CPU) {
		e.add(field, "got %v, want Cpu among them; every unit uses it", list)
	}
	if want := sortedDevices(list); !slices.Equal(want, list) && slices.Contains(list, joulebox.CPU) {
		e.add(field, "got %v, want each class once in the order of §2.3; write %v", list, want)
	}
}

func sortedDevices(list []joulebox.DeviceClass) []joulebox.DeviceClass {
	s := slices.Clone(list)
	slices.Sort(s)
	return slices.Compact(s)
}

// budget refuses zero, since nothing could run, and more than can be hashed.
func (e *Errors) budget(field string, v uint64, unit string) {
	if v == 0 {
		e.add(field, "got 0, want 1 to %d %s; with 0 nothing could run", uint64(MaxInteger), unit)
	}
	e.limit(field, v)
}

func (e *Errors) ceiling(field string, v *uint64) {
	if v != nil {
		e.limit(field, *v)
	}
}

func (e *Errors) limit(field string, v uint64) {
	if v > MaxInteger {
		e.add(field, "got %d, want at most %d (2^53-1)", v, uint64(MaxInteger))
	}
}

func (e *Errors) globs(field string, list []string) {
	each(e, field, list, ParseGlob)
}

// each parses every entry of a list and reports each one that can't be.
func each[T any](e *Errors, field string, list []string, parse func(string) (T, error)) {
	e.length(field, len(list))
	for i, s := range list {
		if _, err := parse(s); err != nil {
			e.add(index(field, i), "%v", err)
		}
	}
}

func (e *Errors) prefixes(list []Prefix) {
	const field = "kv.prefixes"
	e.length(field, len(list))
	for i, p := range list {
		if len(p) > maxGlob {
			e.add(index(field, i), "got a prefix of %d bytes, want at most %d", len(p), maxGlob)
		}
	}
}

var errZeroHash = errors.New("got the zero id, want the content address of an executable")

func (e *Errors) hashes(field string, list []joulebox.ID) {
	e.length(field, len(list))
	for i, id := range list {
		if id.IsZero() {
			e.add(index(field, i), "%v", errZeroHash)
		}
	}
}

func (e *Errors) length(field string, n int) {
	if n > maxList {
		e.add(field, "got %d entries, want at most %d", n, maxList)
	}
}
