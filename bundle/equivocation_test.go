package bundle_test

import (
	"testing"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
)

func TestEquivocation(t *testing.T) {
	make := func(key byte, sequence uint64, nonce byte) *bundle.Bundle {
		r := honest()
		r.key, r.sequence, r.nonce[0] = testKey(key), sequence, nonce
		r.fields.HostID = attestation.KeyID(public(r.key))
		return r.bundle(t)
	}
	a := make(1, 7, 1)
	for _, c := range []struct {
		name string
		with []*bundle.Bundle
		want int
	}{
		{"alone", nil, 0},
		{"the same again", []*bundle.Bundle{a, make(1, 7, 1)}, 0},
		{"another sequence", []*bundle.Bundle{make(1, 8, 2)}, 0},
		{"another key", []*bundle.Bundle{make(2, 7, 2)}, 0},
		{"another receipt", []*bundle.Bundle{make(1, 7, 2)}, 1},
		{"two others, one twice", []*bundle.Bundle{make(1, 7, 2), make(2, 1, 1), make(1, 7, 3), make(1, 7, 2)}, 2},
	} {
		got := bundle.Equivocation(append([]*bundle.Bundle{a}, c.with...))
		if len(got) != c.want {
			t.Errorf("%s: got %v, want %d", c.name, got, c.want)
		}
		for _, e := range got {
			if e.Sequence != 7 || !e.Key.Equal(public(testKey(1))) || e.First != 0 || e.FirstID != a.Receipt().ID() || e.SecondID == e.FirstID {
				t.Errorf("%s: got %v", c.name, e)
			}
		}
	}
}

// A receipt that somebody else signed, under the accused's seal, accuses nobody.
func TestEquivocationCantBeForged(t *testing.T) {
	r, forger := honest(), honest()
	forger.key, forger.nonce[0] = testKey(2), 1
	forger.fields.HostID = attestation.KeyID(public(forger.key))
	a := r.bundle(t)
	forged := swapIn(t, a, forger.bundle(t), "receipt")
	for _, order := range [][]*bundle.Bundle{{a, forged}, {forged, a}} {
		if got := bundle.Equivocation(order); len(got) != 0 {
			t.Errorf("got %v, want none", got)
		}
	}
	// Nor does it hide what is real.
	second := honest()
	second.nonce[0] = 2
	if got := bundle.Equivocation([]*bundle.Bundle{forged, a, second.bundle(t)}); len(got) != 1 || got[0].First != 1 || got[0].Second != 2 {
		t.Errorf("got %v, want one, of 1 and 2", got)
	}
}
