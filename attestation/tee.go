package attestation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TEEKind is the kind of a hardware attestation report (§7.6). The set is closed.
type TEEKind string

// The kinds.
const (
	SevSnp TEEKind = "SevSnp"
	Tdx    TEEKind = "Tdx"
	ArmCca TEEKind = "ArmCca"
)

// Known reports whether k is in the closed set.
func (k TEEKind) Known() bool { return k == SevSnp || k == Tdx || k == ArmCca }

// TEE sums up a hardware attestation report that the host has verified (§7.6).
type TEE struct {
	Kind TEEKind `json:"kind"`
	// Measurement is the launch measurement in lower-case hex.
	Measurement string `json:"measurement"`
	// TCB is the platform's security versions, part by part. For SevSnp the parts
	// are boot_loader, tee, snp, microcode and, where the platform has one, fmc.
	TCB map[string]uint64 `json:"tcb"`
}

// The lengths of a measurement in hex digits: SHA-384 for the x86 kinds, one of
// the hashes a realm may be measured with for CCA.
var measurementDigits = map[TEEKind][]int{SevSnp: {96}, Tdx: {96}, ArmCca: {64, 96, 128}}

func (t *TEE) check() error {
	if !t.Kind.Known() {
		return fmt.Errorf("tee.kind: got %q, want SevSnp, Tdx or ArmCca (§7.6)", t.Kind)
	}
	digits := measurementDigits[t.Kind]
	if !slices.Contains(digits, len(t.Measurement)) || strings.Trim(t.Measurement, "0123456789abcdef") != "" {
		return fmt.Errorf("tee.measurement: got %q, want lower-case hex of %v digits", t.Measurement, digits)
	}
	return t.checkTCB()
}

func (t *TEE) checkTCB() error {
	if len(t.TCB) == 0 {
		return fmt.Errorf("tee.tcb: is empty, want the platform's TCB as its parts (§7.6)")
	}
	for _, part := range slices.Sorted(maps.Keys(t.TCB)) {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return fmt.Errorf("tee.tcb: got a part %q, want a name of a-z, 0-9 and _", part)
		}
	}
	if t.Kind != SevSnp {
		return nil
	}
	parts := []string{"boot_loader", "tee", "snp", "microcode"}
	for _, part := range parts {
		if _, ok := t.TCB[part]; !ok {
			return fmt.Errorf("tee.tcb.%s: is absent, want it for SevSnp", part)
		}
	}
	if _, fmc := t.TCB["fmc"]; len(t.TCB) != len(parts) && !(fmc && len(t.TCB) == len(parts)+1) {
		return fmt.Errorf("tee.tcb: got parts %q, want %q and at most fmc for SevSnp", slices.Sorted(maps.Keys(t.TCB)), parts)
	}
	return nil
}

func (t *TEE) clone() *TEE {
	if t == nil {
		return nil
	}
	return &TEE{Kind: t.Kind, Measurement: t.Measurement, TCB: maps.Clone(t.TCB)}
}
