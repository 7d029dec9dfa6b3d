package receipt

import (
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/dcbor"
)

// The core's members, spelled in wire order: deterministic CBOR sorts text keys
// by length, then bytes.
type wireCore struct {
	Tier     string       `cbor:"tier"`
	Nonce    []byte       `cbor:"nonce"`
	Total    wireTotal    `cbor:"total"`
	Devices  []wireDevice `cbor:"devices"`
	UnitID   string       `cbor:"unit_id"`
	Sequence uint64       `cbor:"sequence"`
	Profile  string       `cbor:"jc_receipt"`
}

type wireTotal struct {
	Measured  *uint64 `cbor:"measured_uj,omitempty"`
	Estimated uint64  `cbor:"estimated_uj"`
}

type wireDevice struct {
	Class      string  `cbor:"class"`
	Provenance string  `cbor:"provenance"`
	Measured   *uint64 `cbor:"measured_uj,omitempty"`
	Estimated  uint64  `cbor:"estimated_uj"`
}

func encode(r *Receipt) ([]byte, error) { return dcbor.Marshal(wireOf(r)) }

func wireOf(r *Receipt) wireCore {
	w := wireCore{
		Tier:     r.tier.String(),
		Nonce:    r.nonce[:],
		Total:    wireTotal{optional(r.total.MeasuredUJ, r.total.HasMeasured), uint64(r.total.EstimatedUJ)},
		Devices:  make([]wireDevice, len(r.devices)),
		UnitID:   r.unitID.String(),
		Sequence: r.sequence,
		Profile:  Profile,
	}
	for i, e := range r.devices {
		w.Devices[i] = wireDevice{e.class.String(), e.provenance.String(), optional(e.measured, e.hasMeasure), uint64(e.estimated)}
	}
	return w
}

func optional(v joulebox.Microjoules, ok bool) *uint64 {
	if !ok {
		return nil
	}
	u := uint64(v)
	return &u
}

// ParseCore reads a receipt's canonical CBOR. Anything but the one encoding of
// a valid receipt is refused.
func ParseCore(core []byte) (*Receipt, error) {
	r, err := parseCore(core)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return r, nil
}

func parseCore(core []byte) (*Receipt, error) {
	var w wireCore
	if err := dcbor.Unmarshal(core, &w); err != nil {
		return nil, err
	}
	r, err := w.receipt()
	if err != nil {
		return nil, err
	}
	if err := r.settle(); err != nil {
		return nil, err
	}
	if err := w.Total.equal(r.total); err != nil {
		return nil, err
	}
	r.core, r.id = append([]byte(nil), core...), joulebox.Sum(core)
	return r, nil
}

func (w *wireCore) receipt() (r *Receipt, err error) {
	if w.Profile != Profile {
		return nil, fmt.Errorf("jc_receipt: got %q, want %q", w.Profile, Profile)
	}
	if len(w.Nonce) != NonceSize {
		return nil, fmt.Errorf("nonce: got %d bytes, want %d", len(w.Nonce), NonceSize)
	}
	r = &Receipt{sequence: w.Sequence, nonce: [NonceSize]byte(w.Nonce), devices: make([]Energy, len(w.Devices))}
	if r.tier, err = joulebox.ParseTier(w.Tier); err != nil {
		return nil, err
	}
	if r.unitID, err = joulebox.ParseID(w.UnitID); err != nil {
		return nil, fmt.Errorf("unit_id: %w", err)
	}
	for i, d := range w.Devices {
		if r.devices[i], err = d.energy(); err != nil {
			return nil, fmt.Errorf("devices[%d]: %w", i, err)
		}
	}
	return r, nil
}

func (d wireDevice) energy() (e Energy, err error) {
	if e.class, err = joulebox.ParseDeviceClass(d.Class); err != nil {
		return Energy{}, err
	}
	if e.provenance, err = ParseProvenance(d.Provenance); err != nil {
		return Energy{}, err
	}
	e.estimated = joulebox.Microjoules(d.Estimated)
	if d.Measured != nil {
		e.measured, e.hasMeasure = joulebox.Microjoules(*d.Measured), true
	}
	return e, nil
}

func (w wireTotal) equal(want Total) error {
	if w.Estimated != uint64(want.EstimatedUJ) {
		return fmt.Errorf("total.estimated_uj: got %d, want the sum of the records, %d", w.Estimated, want.EstimatedUJ)
	}
	switch {
	case w.Measured == nil && want.HasMeasured:
		return fmt.Errorf("total.measured_uj: is absent, want %d, since every record has a measured figure", want.MeasuredUJ)
	case w.Measured != nil && !want.HasMeasured:
		return fmt.Errorf("total.measured_uj: got %d, want none, since not every record has a measured figure", *w.Measured)
	case w.Measured != nil && *w.Measured != uint64(want.MeasuredUJ):
		return fmt.Errorf("total.measured_uj: got %d, want the sum of the records, %d", *w.Measured, want.MeasuredUJ)
	}
	return nil
}
