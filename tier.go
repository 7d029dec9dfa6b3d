package joulebox

import "fmt"

// Tier is a rung of the isolation ladder (§2.2). Each tier contains the
// guarantees of the one below it.
type Tier uint8

// The eight rungs, lowest first.
const (
	S0 Tier = iota // Bare
	S1             // Capability
	S2             // Sandbox
	S3             // Partition
	S4             // Unikernel
	S5             // MicroVM
	S6             // Confidential
	S7             // Sovereign
)

var tierNames = [...]string{"Bare", "Capability", "Sandbox", "Partition", "Unikernel", "MicroVM", "Confidential", "Sovereign"}

// Tiers lists the ladder from S0 to S7.
func Tiers() []Tier { return []Tier{S0, S1, S2, S3, S4, S5, S6, S7} }

// String is the wire tag: "S0" to "S7".
func (t Tier) String() string { return fmt.Sprintf("S%d", uint8(t)) }

// Name is the standard's name of the rung, as in "Sandbox" for S2.
func (t Tier) Name() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return t.String()
}

// ParseTier reads a wire tag. It accepts "S0" to "S7" and nothing else.
func ParseTier(s string) (Tier, error) {
	if len(s) == 2 && s[0] == 'S' && s[1] >= '0' && s[1] <= '7' {
		return Tier(s[1] - '0'), nil
	}
	return 0, fmt.Errorf("tier: got %q, want S0 to S7", s)
}

// MarshalText writes the wire tag.
func (t Tier) MarshalText() ([]byte, error) {
	if t > S7 {
		return nil, fmt.Errorf("tier: %d is not on the ladder", uint8(t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads a wire tag.
func (t *Tier) UnmarshalText(b []byte) error {
	v, err := ParseTier(string(b))
	if err == nil {
		*t = v
	}
	return err
}
