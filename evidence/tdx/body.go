package tdx

import "fmt"

const (
	bodySize10 = 584
	bodySize15 = 648
)

// Attributes are a trust domain's.
type Attributes [8]byte

// Debug reports whether the domain is under debug: any bit of the first byte,
// Intel's TUD group, takes the trust away.
func (a Attributes) Debug() bool { return a[0] != 0 }

// Migratable reports whether a service domain may move it elsewhere.
func (a Attributes) Migratable() bool { return a[3]>>5&1 == 1 }

// Body is what a quote says of a trust domain, as stored.
type Body struct {
	TEETCBSVN      [16]byte
	MRSEAM         [48]byte
	MRSignerSEAM   [48]byte
	SEAMAttributes [8]byte
	TDAttributes   Attributes
	XFAM           [8]byte
	MRTD           [48]byte
	MRConfigID     [48]byte
	MROwner        [48]byte
	MROwnerConfig  [48]byte
	RTMR           [4][48]byte
	ReportData     [64]byte

	Is15        bool // the body of TDX 1.5, which has the following too
	TEETCBSVN2  [16]byte
	MRServiceTD [48]byte
}

// fields are the body's in their order.
func (b *Body) fields() [][]byte {
	all := [][]byte{
		b.TEETCBSVN[:], b.MRSEAM[:], b.MRSignerSEAM[:], b.SEAMAttributes[:], b.TDAttributes[:], b.XFAM[:],
		b.MRTD[:], b.MRConfigID[:], b.MROwner[:], b.MROwnerConfig[:], b.RTMR[0][:], b.RTMR[1][:], b.RTMR[2][:], b.RTMR[3][:], b.ReportData[:],
	}
	if b.Is15 {
		all = append(all, b.TEETCBSVN2[:], b.MRServiceTD[:])
	}
	return all
}

// readBody reads a body of one of the two sizes.
func readBody(src []byte) (b Body) {
	b.Is15 = len(src) == bodySize15
	for _, f := range b.fields() {
		src = src[copy(f, src):]
	}
	return b
}

// details are all fields as text, under their names.
func (b *Body) details() map[string]string {
	d := map[string]string{
		"tee_tcb_svn": hex(b.TEETCBSVN[:]), "mr_seam": hex(b.MRSEAM[:]), "mrsigner_seam": hex(b.MRSignerSEAM[:]), "seam_attributes": hex(b.SEAMAttributes[:]),
		"td_attributes": hex(b.TDAttributes[:]), "xfam": hex(b.XFAM[:]), "mr_td": hex(b.MRTD[:]), "mr_config_id": hex(b.MRConfigID[:]), "mr_owner": hex(b.MROwner[:]),
		"mr_owner_config": hex(b.MROwnerConfig[:]), "rtmr0": hex(b.RTMR[0][:]), "rtmr1": hex(b.RTMR[1][:]), "rtmr2": hex(b.RTMR[2][:]), "rtmr3": hex(b.RTMR[3][:]),
	}
	if b.Is15 {
		d["tee_tcb_svn2"], d["mr_service_td"] = hex(b.TEETCBSVN2[:]), hex(b.MRServiceTD[:])
	}
	return d
}

func hex(b []byte) string { return fmt.Sprintf("%x", b) }
