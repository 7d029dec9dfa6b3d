package sevsnp

import (
	"encoding/binary"
	"fmt"

	"github.com/joulebox/joulebox/evidence"
)

// Size is the one size of a report. What follows, padding too, isn't a report.
const Size = 1184

const (
	signedSize = 0x2a0 // what the signature covers; the signature follows
	numberSize = 72    // r and s, little-endian
	scalarSize = 48    // of P-384; the rest of a number is zero
)

// Key is which key signed a report.
type Key uint8

// The keys.
const (
	VCEK Key = 0 // the chip's, derived from its TCB
	VLEK Key = 1 // a provider's, loaded into its chips
)

func (k Key) String() string { return [...]string{"VCEK", "VLEK"}[k&1] }

// Version is a firmware version: major, minor, build.
type Version [3]byte

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// CPU is what CPUID says of the processor, from version 3 on.
type CPU struct{ Family, Model, Stepping byte }

// Report is a report's fields, under the specification's names. TCBs are the
// eight bytes as stored: their layout is the product's.
type Report struct {
	Version         uint32
	GuestSVN        uint32
	Policy          GuestPolicy
	FamilyID        [16]byte
	ImageID         [16]byte
	VMPL            uint32
	SignatureAlgo   uint32
	CurrentTCB      [8]byte
	PlatformInfo    PlatformInfo
	AuthorKeyEn     bool
	MaskChipKey     bool
	SigningKey      Key
	ReportData      [64]byte
	Measurement     [48]byte
	HostData        [32]byte
	IDKeyDigest     [48]byte
	AuthorKeyDigest [48]byte
	ReportID        [32]byte
	ReportIDMA      [32]byte
	ReportedTCB     [8]byte
	CPU             CPU
	ChipID          [64]byte
	CommittedTCB    [8]byte
	Current         Version
	Committed       Version
	LaunchTCB       [8]byte
	LaunchMit       uint64 // mitigations in force at launch, version 5
	CurrentMit      uint64
	R, S            [scalarSize]byte // big-endian
}

// Parse reads a report. The errors are *evidence.Refusal.
func Parse(b []byte) (*Report, error) {
	switch {
	case len(b) < Size:
		return nil, evidence.Refuse(evidence.Truncated, "got %d bytes, want %d", len(b), Size)
	case len(b) > Size:
		return nil, evidence.Refuse(evidence.Trailing, "got %d bytes, want exactly %d: a report has no padding", len(b), Size)
	}
	f := fields{b: b}
	r := &Report{Version: binary.LittleEndian.Uint32(b)}
	if r.Version < 2 || r.Version > 5 {
		return nil, evidence.Refuse(evidence.Unsupported, "version: got %d, want 2 to 5", r.Version)
	}
	f.walk(r)
	if f.err != nil {
		return nil, f.err
	}
	return r, r.check()
}

// check holds fields to the values that they may have.
func (r *Report) check() error {
	if r.SignatureAlgo != 1 {
		return evidence.Refuse(evidence.Algorithm, "signature_algo: got %d, want 1, ECDSA P-384 with SHA-384", r.SignatureAlgo)
	}
	if r.VMPL > 3 {
		return evidence.Refuse(evidence.Malformed, "vmpl: got %d, want 0 to 3", r.VMPL)
	}
	if err := r.Policy.check(); err != nil {
		return err
	}
	if r.MaskChipKey {
		return evidence.Refuse(evidence.Signature, "mask_chip_key is set: the firmware signs nothing on this platform")
	}
	return nil
}
