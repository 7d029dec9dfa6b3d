package host

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// The kinds of probing that a broker sees (§7.5). They are attestation's names:
// the host hands them over as text, since objects and host don't share types.
const (
	probeEnergy    = "energy_interface_evasion"
	probeWalk      = "filesystem_walk"
	probeHardware  = "hardware_enumeration"
	probePrivilege = "privileged_call"
)

// walkBreadth is how many top-level directories a unit can be denied before it
// is taken to be walking the root.
const walkBreadth = 4

type probes struct {
	mu      sync.Mutex
	seen    map[string]bool
	tops    map[string]bool // top-level directories that were denied
	denials []Denial
}

// Probing lists what was seen, sorted.
func (b *Broker) Probing() []string {
	b.probes.mu.Lock()
	defer b.probes.mu.Unlock()
	seen := slices.Sorted(maps.Keys(b.probes.seen))
	return slices.Compact(slices.Sorted(slices.Values(append(seen, b.report.probing...))))
}

func (p *probes) add(kind string) {
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[kind] = true
}

// look judges a guest path that a unit tried, whatever came of it: a unit has no
// honest business with the machine's own descriptions.
func (p *probes) look(path string) {
	if !strings.HasPrefix(path, "/proc") && !strings.HasPrefix(path, "/sys") && !strings.HasPrefix(path, "/dev") {
		return
	}
	kind := probeKind(path)
	if kind == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(kind)
}

// Where the kernel shows energy, and where it shows hardware.
var (
	energyPaths = []string{
		"/sys/class/powercap", "/sys/devices/virtual/powercap", "/sys/class/hwmon", "/sys/class/power_supply",
		"/sys/bus/event_source", "/sys/devices/power", "/sys/kernel/debug/energy_model", "/dev/cpu", "/dev/cpu_dma_latency",
	}
	hardwarePaths = []string{"/sys", "/dev", "/proc/cpuinfo", "/proc/meminfo", "/proc/devices", "/proc/interrupts",
		"/proc/iomem", "/proc/ioports", "/proc/bus", "/proc/scsi", "/proc/partitions", "/proc/diskstats",
		"/proc/driver", "/proc/acpi", "/proc/device-tree", "/proc/modules", "/proc/self", "/proc/version",
		"/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/mounts", "/proc/net", "/proc/kallsyms"}
	harmlessDevices = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin",
		"/dev/stdout", "/dev/stderr", "/dev/fd", "/dev/shm"}
)

func probeKind(path string) string {
	switch {
	case anyHolds(harmlessDevices, path):
		return ""
	case anyHolds(energyPaths, path):
		return probeEnergy
	case path == "/proc", anyHolds(hardwarePaths, path):
		return probeHardware
	}
	return ""
}

func anyHolds(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return holds(d, path) })
}

// holds reports whether path is dir or beneath it; both canonical.
func holds(dir, path string) bool {
	if dir == "/" {
		return true
	}
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// denied notes a path that was refused: trying the root itself, or one top-level
// directory after another, is a walk.
func (p *probes) denied(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path == "/" {
		p.add(probeWalk)
		return
	}
	top, _, _ := strings.Cut(path[1:], "/")
	if p.tops == nil {
		p.tops = map[string]bool{}
	}
	if len(p.tops) < walkBreadth {
		p.tops[top] = true
	}
	if len(p.tops) == walkBreadth {
		p.add(probeWalk)
	}
}
