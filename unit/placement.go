package unit

import (
	"encoding/json/v2"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
)

// The values of Placement's closed members.
const (
	Sensitive = "sensitive" // Contention: a neighbour on shared I/O would matter (§2.4)
	Machine   = "machine"   // Boundary: a virtual machine of its own (S4)
	Kernel    = "kernel"    // Boundary: a guest kernel of its own (S5)
)

const contentionNone = "none"

// Placement asks for what grants alone can't: trust, and the tiers from S3 on.
// The zero Placement is the default: untrusted, and nothing asked for.
type Placement struct {
	// Trusted is the operator's word for the code.
	Trusted bool
	// Contention is "", which is written "none", or "sensitive".
	Contention string
	// Boundary is "", "machine" or "kernel".
	Boundary string
	// Passthrough lists classes assigned directly, in the order of §2.3.
	Passthrough []joulebox.DeviceClass
	// Confidential asks for memory encryption and verified evidence (§7.6).
	Confidential bool
	// Locality pins the run (§7.7), or nil.
	Locality *Locality
}

// Locality is where a sovereign run is bound to (§7.7).
type Locality struct {
	Region       string `json:"region"`
	Jurisdiction string `json:"jurisdiction"`
}

type placementWire struct {
	Trusted      bool                   `json:"trusted"`
	Contention   string                 `json:"contention"`
	Boundary     string                 `json:"boundary,omitzero"`
	Passthrough  []joulebox.DeviceClass `json:"passthrough"`
	Confidential bool                   `json:"confidential"`
	Locality     *Locality              `json:"locality,omitzero"`
}

// IsDefault reports whether the descriptor leaves the placement out.
func (p Placement) IsDefault() bool {
	return !p.Trusted && (p.Contention == "" || p.Contention == contentionNone) && p.Boundary == "" &&
		len(p.Passthrough) == 0 && !p.Confidential && p.Locality == nil
}

// IsSensitive reports contention "sensitive".
func (p Placement) IsSensitive() bool { return p.Contention == Sensitive }

// Validate reports the first member that is outside of its closed set.
func (p Placement) Validate() error {
	if p.Contention != "" && p.Contention != contentionNone && p.Contention != Sensitive {
		return fmt.Errorf("contention: got %q, want %q or %q", p.Contention, contentionNone, Sensitive)
	}
	if p.Boundary != "" && p.Boundary != Machine && p.Boundary != Kernel {
		return fmt.Errorf("boundary: got %q, want %q or %q, or none", p.Boundary, Machine, Kernel)
	}
	for i, c := range p.Passthrough {
		if c > joulebox.Quantum || i > 0 && c <= p.Passthrough[i-1] {
			return fmt.Errorf("passthrough: got %v, want each class once in the order of §2.3", p.Passthrough)
		}
	}
	if slices.Contains(p.Passthrough, joulebox.CPU) || slices.Contains(p.Passthrough, joulebox.SIMD) {
		return fmt.Errorf("passthrough: got %v, want accelerators; the host's own processor isn't assigned", p.Passthrough)
	}
	if l := p.Locality; l != nil && (l.Region == "" || l.Jurisdiction == "") {
		return fmt.Errorf("locality: got region %q and jurisdiction %q, want both", l.Region, l.Jurisdiction)
	}
	return nil
}

// MarshalJSON writes every member but an unset boundary and locality.
func (p Placement) MarshalJSON() ([]byte, error) {
	w := placementWire(p)
	if w.Contention == "" {
		w.Contention = contentionNone
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the closed members.
func (p *Placement) UnmarshalJSON(b []byte) error {
	var w placementWire
	if err := json.Unmarshal(b, &w, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*p = Placement(w)
	return p.Validate()
}
