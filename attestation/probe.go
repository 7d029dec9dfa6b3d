package attestation

import (
	"fmt"
	"slices"
)

// Probe is one kind of probing that the host saw (§7.5). The set is closed.
type Probe string

// The probes.
const (
	// ProbeEnergy is an attempt to evade or read the energy interface.
	ProbeEnergy Probe = "energy_interface_evasion"
	// ProbeFilesystem is a walk over the root filesystem.
	ProbeFilesystem Probe = "filesystem_walk"
	// ProbeHardware is an enumeration of the hardware.
	ProbeHardware Probe = "hardware_enumeration"
	// ProbePrivilege is a denied call that only a privileged process needs.
	ProbePrivilege Probe = "privileged_call"
)

// Probes lists the closed set, sorted.
func Probes() []Probe { return []Probe{ProbeEnergy, ProbeFilesystem, ProbeHardware, ProbePrivilege} }

func (f Fields) checkProbing() error {
	for i, p := range f.Probing {
		if !slices.Contains(Probes(), p) {
			return fmt.Errorf("probing[%d]: got %q, want one of %q", i, p, Probes())
		}
		if i > 0 && p <= f.Probing[i-1] {
			return fmt.Errorf("probing[%d]: %q after %q, want them sorted, each once", i, p, f.Probing[i-1])
		}
	}
	return nil
}
