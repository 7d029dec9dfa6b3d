package fleet

import (
	"crypto/ed25519"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// Proof is a leaf's way up to the root: its place, the fleet's size, and the hash
// beside it at each level, the lowest first.
type Proof struct {
	Index uint64        `json:"index"`
	Count uint64        `json:"count"`
	Path  []joulebox.ID `json:"path"`
}

// Verify checks that the leaf is of the fleet that the record commits to. A path of
// another length than the place calls for, another size or another leaf fails.
func (p Proof) Verify(l Leaf, r Record) error {
	if err := l.Check(); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if p.Count != r.Count {
		return fmt.Errorf("fleet: count: the proof is for a fleet of %d, and the record is of %d", p.Count, r.Count)
	}
	root, err := hasher.Climb(p.Index, p.Count, l.Hash(), p.Path)
	if err != nil {
		return fmt.Errorf("fleet: proof: %w", err)
	}
	if root != r.Root {
		return fmt.Errorf("fleet: proof: leads to root %s, want %s: another item, another run or another fleet", root, r.Root)
	}
	return nil
}

// VerifyGrowth checks that the larger record's fleet begins with the smaller's, so
// that nothing of it was changed, moved or taken away.
func VerifyGrowth(smaller, larger Record, path []joulebox.ID) error {
	for _, r := range []Record{smaller, larger} {
		if err := r.check(); err != nil {
			return err
		}
	}
	if err := hasher.Extends(smaller.Count, larger.Count, smaller.Root, larger.Root, path); err != nil {
		return fmt.Errorf("fleet: growth from %d to %d: %w", smaller.Count, larger.Count, err)
	}
	return nil
}

// MembershipSchema marks a membership.
const MembershipSchema = "joulebox.fleet-proof/1"

// Membership is all that someone needs to see that a run is of a fleet: the leaf,
// the proof, and the fleet's signed record.
type Membership struct {
	Leaf  Leaf
	Proof Proof
	Fleet Signed
}

type fleetWire struct {
	Core recordWire `json:"core"`
	Seal Seal       `json:"seal"`
}

type membershipWire struct {
	Schema string `json:"schema"`
	Leaf
	Proof Proof     `json:"proof"`
	Fleet fleetWire `json:"fleet"`
}

// Canonical is the membership's RFC 8785 form.
func (m Membership) Canonical() ([]byte, error) {
	r := m.Fleet.Record
	return jcs.Marshal(membershipWire{MembershipSchema, m.Leaf, m.Proof, fleetWire{recordWire{Schema, r.Root, r.Count}, m.Fleet.Seal}})
}

// ParseMembership reads a membership; its members are closed. See Verify.
func ParseMembership(src []byte) (Membership, error) {
	var w membershipWire
	if err := jcs.Unmarshal(src, &w); err != nil {
		return Membership{}, fmt.Errorf("fleet: %w", err)
	}
	switch {
	case w.Schema != MembershipSchema:
		return Membership{}, fmt.Errorf("fleet: schema: got %q, want %q", w.Schema, MembershipSchema)
	case w.Fleet.Core.Schema != Schema:
		return Membership{}, fmt.Errorf("fleet: fleet.core.schema: got %q, want %q", w.Fleet.Core.Schema, Schema)
	case len(w.Proof.Path) > 64:
		return Membership{}, fmt.Errorf("fleet: proof.path: got %d hashes, and no tree is that high", len(w.Proof.Path))
	}
	if err := w.Fleet.Seal.Check(); err != nil {
		return Membership{}, fmt.Errorf("fleet: %w", err)
	}
	m := Membership{w.Leaf, w.Proof, Signed{Record{w.Fleet.Core.Root, w.Fleet.Core.Count}, w.Fleet.Seal}}
	if err := m.Leaf.Check(); err != nil {
		return Membership{}, err
	}
	return m, m.Fleet.Record.check()
}

// Verify checks the proof, and the record's seal under a key that the caller trusts.
func (m Membership) Verify(pinned ed25519.PublicKey) error {
	if err := m.Fleet.Verify(pinned); err != nil {
		return err
	}
	return m.Proof.Verify(m.Leaf, m.Fleet.Record)
}
