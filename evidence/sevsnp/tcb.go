package sevsnp

import (
	"bytes"

	"github.com/joulebox/joulebox/evidence"
)

// Product is a line of processors with roots of its own.
type Product string

// The products.
const (
	Milan Product = "Milan"
	Genoa Product = "Genoa" // and Bergamo and Siena
	Turin Product = "Turin"
)

// productOf is the line of a processor, empty for one that isn't known.
func productOf(c CPU) Product {
	const zen3, zen5 = 0x19, 0x1a
	switch high := c.Model >> 4; {
	case c.Family == zen3 && high == 0:
		return Milan
	case c.Family == zen3 && (high == 1 || high == 0xa):
		return Genoa
	case c.Family == zen5 && high <= 1:
		return Turin
	}
	return ""
}

// TCB is a platform's security versions.
type TCB = evidence.SevSnpTCB

// tcb reads the eight bytes as the product lays them out.
func (p Product) tcb(b [8]byte) (TCB, error) {
	t, rest := TCB{BootLoader: b[0], TEE: b[1], SNP: b[6], Microcode: b[7]}, b[2:6]
	if p == Turin {
		t, rest = TCB{FMC: b[0], BootLoader: b[1], TEE: b[2], SNP: b[3], Microcode: b[7]}, b[4:7]
	}
	if len(bytes.Trim(rest, "\x00")) != 0 {
		return TCB{}, evidence.Refuse(evidence.Malformed, "reported_tcb: got %x, want zeros where %s has no part", b, p)
	}
	return t, nil
}

// parts is a TCB as an attestation names it (§7.6).
func (p Product) parts(t TCB) map[string]uint64 {
	m := map[string]uint64{"boot_loader": uint64(t.BootLoader), "tee": uint64(t.TEE), "snp": uint64(t.SNP), "microcode": uint64(t.Microcode)}
	if p == Turin {
		m["fmc"] = uint64(t.FMC)
	}
	return m
}

// below names the parts in which t is lower than the minimum.
func below(t, minimum TCB) (parts []string) {
	for _, c := range []struct {
		name      string
		got, want uint8
	}{
		{"boot_loader", t.BootLoader, minimum.BootLoader},
		{"tee", t.TEE, minimum.TEE},
		{"snp", t.SNP, minimum.SNP},
		{"microcode", t.Microcode, minimum.Microcode},
		{"fmc", t.FMC, minimum.FMC},
	} {
		if c.got < c.want {
			parts = append(parts, c.name)
		}
	}
	return parts
}
