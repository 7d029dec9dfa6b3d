package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
)

const (
	idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	idChars    = 43
	// maxMatches bounds what an AmbiguousError lists.
	maxMatches = 4
)

// keyRange is the span of digests whose text begins with a prefix. Text order
// and digest order differ, but each character fixes six bits, so the matching
// digests lie side by side.
type keyRange struct{ low, high joulebox.ID } // both included

func parsePrefix(prefix string) (keyRange, error) {
	body := strings.TrimPrefix(prefix, "b3:")
	if body == "" || len(body) > idChars {
		return keyRange{}, fmt.Errorf("store: id prefix: got %q, want b3: and 1 to %d base64url characters", prefix, idChars)
	}
	r := keyRange{high: joulebox.ID(bytes.Repeat([]byte{0xff}, 32))}
	for i := range len(body) {
		v := strings.IndexByte(idAlphabet, body[i])
		if v < 0 {
			return keyRange{}, fmt.Errorf("store: id prefix %q: %q is not a base64url character", prefix, body[i])
		}
		if i == idChars-1 && v&3 != 0 {
			return keyRange{}, fmt.Errorf("store: id prefix %q: its last character is not canonical", prefix)
		}
		for bit := range 6 {
			r.fix(i*6+bit, v>>(5-bit)&1 != 0)
		}
	}
	return r, nil
}

// fix sets bit n, counted from the left, in both ends of the range.
func (r *keyRange) fix(n int, set bool) {
	if n >= len(r.low)*8 {
		return // the two unused bits of the last character
	}
	mask := byte(0x80) >> (n % 8)
	if set {
		r.low[n/8] |= mask
	} else {
		r.high[n/8] &^= mask
	}
}

func (r keyRange) contains(id joulebox.ID) bool {
	return bytes.Compare(id[:], r.low[:]) >= 0 && bytes.Compare(id[:], r.high[:]) <= 0
}

// matches collects distinct keys until they show that a prefix is ambiguous.
type matches struct{ ids []joulebox.ID }

// add reports whether more would be of use.
func (m *matches) add(id joulebox.ID) bool {
	if !slices.Contains(m.ids, id) {
		m.ids = append(m.ids, id)
	}
	return len(m.ids) < maxMatches
}

func (m *matches) resolve(prefix string) (joulebox.ID, error) {
	switch len(m.ids) {
	case 0:
		return joulebox.ID{}, fmt.Errorf("%w: no record has an id that begins with %q", ErrNotFound, prefix)
	case 1:
		return m.ids[0], nil
	}
	slices.SortFunc(m.ids, func(a, b joulebox.ID) int { return strings.Compare(a.String(), b.String()) })
	return joulebox.ID{}, &AmbiguousError{Prefix: prefix, Matches: m.ids}
}
