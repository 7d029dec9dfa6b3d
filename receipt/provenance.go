package receipt

import "fmt"

// Provenance says where a device record's figure came from (§6.3). The set is
// closed; the zero value is none of it and is refused.
type Provenance uint8

// The three provenances.
const (
	// HwShunt is read from a hardware energy interface for that class; it
	// always comes with a measured figure.
	HwShunt Provenance = iota + 1
	// ModelBased is computed from a calibrated per-operation model.
	ModelBased
	// Estimator is a coarse constant; it never comes with a measured figure.
	Estimator
)

var provenanceNames = [...]string{HwShunt: "HwShunt", ModelBased: "ModelBased", Estimator: "Estimator"}

// String is the wire name, as in "HwShunt".
func (p Provenance) String() string {
	if p.known() {
		return provenanceNames[p]
	}
	return fmt.Sprintf("Provenance(%d)", uint8(p))
}

func (p Provenance) known() bool { return p >= HwShunt && p <= Estimator }

// ParseProvenance reads a wire name; case matters.
func ParseProvenance(s string) (Provenance, error) {
	for p := HwShunt; p <= Estimator; p++ {
		if provenanceNames[p] == s {
			return p, nil
		}
	}
	return 0, fmt.Errorf("provenance: got %q, want HwShunt, ModelBased or Estimator", s)
}
