package evidence

import (
	"fmt"

	"github.com/joulebox/joulebox/attestation"
)

// Kind is a kind of evidence. The set is closed.
type Kind string

// The kinds.
const (
	SevSnp    Kind = "sev-snp"    // AMD SEV-SNP attestation report
	Tdx       Kind = "tdx"        // Intel TDX quote
	NvidiaGPU Kind = "nvidia-gpu" // token bundle of NVIDIA's attestation service
	ArmCca    Kind = "arm-cca"    // Arm CCA attestation token
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{SevSnp, Tdx, NvidiaGPU, ArmCca} }

// ParseKind reads a kind.
func ParseKind(s string) (Kind, error) {
	for _, k := range Kinds() {
		if string(k) == s {
			return k, nil
		}
	}
	return "", fmt.Errorf("kind: got %q, want one of %v", s, Kinds())
}

var teeKinds = map[Kind]attestation.TEEKind{SevSnp: attestation.SevSnp, Tdx: attestation.Tdx, ArmCca: attestation.ArmCca}

// TEE is the kind as an attestation names it (§7.6), false for the kinds that no
// attestation sums up.
func (k Kind) TEE() (attestation.TEEKind, bool) {
	t, ok := teeKinds[k]
	return t, ok
}

// OfTEE is the kind that an attestation names.
func OfTEE(t attestation.TEEKind) (Kind, error) {
	for k, has := range teeKinds {
		if has == t {
			return k, nil
		}
	}
	return "", fmt.Errorf("kind: got %q, want SevSnp, Tdx or ArmCca (§7.6)", t)
}
