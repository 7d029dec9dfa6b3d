// Package receipt is the energy receipt of one run (§6, JCR-1): joules per
// device class, two-part, each with its provenance, as deterministic CBOR in a
// COSE_Sign1 envelope. A Receipt that exists is a valid one: what doesn't hold
// together can be neither built nor read.
package receipt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
)

// Profile is the value of "jc_receipt": the profile tag of §6.4.
const Profile = "sandbox/1"

// NonceSize is the length of a receipt's nonce in bytes.
const NonceSize = 16

// Receipt accounts for one run's energy. It doesn't change once made.
type Receipt struct {
	unitID   joulebox.ID
	tier     joulebox.Tier
	sequence uint64
	nonce    [NonceSize]byte
	devices  []Energy
	total    Total
	core     []byte
	id       joulebox.ID
}

// New makes a receipt. Sequence belongs to the signing key and is never used
// twice with it; it may take all 64 bits. Nonce is 16 random bytes that never
// repeat, also across resumes and clones. There is one record for each class
// that the run used, in any order. It refuses no records, two of one class, a
// record that isn't one of the makers', an absent unit id and sums past 64 bits.
func New(unitID joulebox.ID, tier joulebox.Tier, sequence uint64, nonce [NonceSize]byte, devices []Energy) (*Receipt, error) {
	devices = slices.Clone(devices)
	slices.SortStableFunc(devices, func(a, b Energy) int { return int(a.class) - int(b.class) })
	r := &Receipt{unitID: unitID, tier: tier, sequence: sequence, nonce: nonce, devices: devices}
	if err := r.settle(); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	core, err := encode(r)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	r.core, r.id = core, joulebox.Sum(core)
	return r, nil
}

// settle checks what New and Parse must both hold to, and sums.
func (r *Receipt) settle() error {
	if r.unitID.IsZero() {
		return errors.New("unit_id: is the zero id, which addresses nothing")
	}
	if r.tier > joulebox.S7 {
		return fmt.Errorf("tier: got %d, want S0 to S7", uint8(r.tier))
	}
	if err := checkDevices(r.devices); err != nil {
		return err
	}
	total, err := sum(r.devices)
	r.total = total
	return err
}

func checkDevices(devices []Energy) error {
	if len(devices) == 0 {
		return errors.New("devices: got no record, want one for each class used (§6.2)")
	}
	for i, e := range devices {
		if err := e.check(); err != nil {
			return fmt.Errorf("devices[%d]: %w", i, err)
		}
		if i == 0 {
			continue
		}
		switch last := devices[i-1].class; {
		case e.class == last:
			return fmt.Errorf("devices[%d]: a second record for %s, want exactly one (§6.2)", i, e.class)
		case e.class < last:
			return fmt.Errorf("devices[%d]: %s after %s, want the order of §2.3", i, e.class, last)
		}
	}
	return nil
}

// UnitID is the unit the receipt accounts for.
func (r *Receipt) UnitID() joulebox.ID { return r.unitID }

// Tier is the tier the unit ran at.
func (r *Receipt) Tier() joulebox.Tier { return r.tier }

// Sequence is the signing key's number of this receipt.
func (r *Receipt) Sequence() uint64 { return r.sequence }

// Nonce is the receipt's 16 random bytes.
func (r *Receipt) Nonce() [NonceSize]byte { return r.nonce }

// Devices are the records, one a class, in the order of §2.3.
func (r *Receipt) Devices() []Energy { return slices.Clone(r.devices) }

// Total is the field-wise sum of the records.
func (r *Receipt) Total() Total { return r.total }

// Core is the canonical CBOR that the id addresses and the envelope signs.
func (r *Receipt) Core() []byte { return slices.Clone(r.core) }

// ID is the receipt id: the content address of the core, not of the envelope.
func (r *Receipt) ID() joulebox.ID { return r.id }
