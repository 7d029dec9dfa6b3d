package bundle

import (
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/cose"
)

// Conflict is an equivocation: one key signed two different receipts under one
// sequence number. First and Second index the bundles that were given.
type Conflict struct {
	Key           ed25519.PublicKey
	Sequence      uint64
	First, Second int
	FirstID       joulebox.ID // receipt ids
	SecondID      joulebox.ID
}

// String says it for people.
func (c Conflict) String() string {
	return fmt.Sprintf("equivocation: key %x signed receipts %s and %s, both with sequence %d", []byte(c.Key), c.FirstID, c.SecondID, c.Sequence)
}

// Equivocation finds the conflicts among bundles. The same receipt twice is
// none. A receipt whose signature doesn't hold under its bundle's key accuses
// nobody, since anybody could have made it.
func Equivocation(bundles []*Bundle) (found []Conflict) {
	for _, s := range slots(bundles) {
		if len(s.at) < 2 {
			continue // signatures are costly, and one receipt can't conflict
		}
		first := -1
		for _, i := range s.at {
			switch b := bundles[i]; {
			case !b.signedBy(s.key[:]):
			case first < 0:
				first = i
			default:
				found = append(found, Conflict{s.key[:], s.sequence, first, i, bundles[first].receipt.ID(), b.receipt.ID()})
			}
		}
	}
	return found
}

// place is where one receipt may stand.
type place struct {
	key      [ed25519.PublicKeySize]byte
	sequence uint64
}

// slot is a place and the bundles whose receipts, all different, claim it.
type slot struct {
	place
	at []int
}

// slots groups the bundles, in the order in which each slot is first claimed.
func slots(bundles []*Bundle) (all []*slot) {
	byPlace := make(map[place]*slot, len(bundles))
	for i, b := range bundles {
		pub, err := b.seal.PublicKey()
		if err != nil {
			continue
		}
		p := place{[ed25519.PublicKeySize]byte(pub), b.receipt.Sequence()}
		s := byPlace[p]
		if s == nil {
			s = &slot{place: p}
			byPlace[p], all = s, append(all, s)
		}
		known := func(j int) bool { return bundles[j].receipt.ID() == b.receipt.ID() && bundles[j].signedBy(pub) }
		if !slices.ContainsFunc(s.at, known) {
			s.at = append(s.at, i)
		}
	}
	return all
}

func (b *Bundle) signedBy(pub ed25519.PublicKey) bool {
	_, err := cose.Verify(b.raw.receipt, pub)
	return err == nil
}
