// Package journal is the deterministic-replay journal (§8) as bytes: entries of
// deterministic CBOR, the hash chain over them, and the container they travel
// in.
//
// The chain starts from 32 zero bytes, h_i = BLAKE3("sandbox.journal/1" ‖
// u64be(i) ‖ h_(i-1) ‖ entry_i) with i from 1, and the last head is the root
// that an attestation names. Entry 1 is a salt: a CBOR byte string of 32 random
// bytes, so that secrets that enter by digest can't be guessed from it.
//
// The container is a CBOR sequence (RFC 8742) of byte strings with shortest
// heads, each holding one entry. It can be appended to, and has no count: what
// is missing at the end shows in the root.
package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/dcbor"
)

// SaltSize is the length of the salt in bytes.
const SaltSize = 32

const chainTag = "sandbox.journal/1"

// Chain is the running head. The zero Chain is the empty journal.
type Chain struct {
	head   joulebox.ID
	length uint64
	buf    []byte // reused
}

// Append advances the head over one entry: one item of deterministic CBOR, and
// the first of all a byte string of 32 bytes.
func (c *Chain) Append(entry []byte) error {
	n := c.length + 1
	if err := checkEntry(n, entry); err != nil {
		return fmt.Errorf("journal: entry %d: %w", n, err)
	}
	c.advance(entry)
	return nil
}

// advance is Append for an entry that was checked.
func (c *Chain) advance(entry []byte) {
	c.length++
	c.head, c.buf = link(c.buf, c.length, c.head, entry)
}

// longEntry is what isn't copied to be hashed in one piece, which is the faster way
// with all that is shorter: a streaming hasher is ten kilobytes to be made.
const longEntry = 256 << 10

// link is BLAKE3(tag ‖ u64be(n) ‖ last ‖ entry), put together in buf, which is
// given back.
func link(buf []byte, n uint64, last joulebox.ID, entry []byte) (joulebox.ID, []byte) {
	buf = append(binary.BigEndian.AppendUint64(append(buf[:0], chainTag...), n), last[:]...)
	if len(entry) <= longEntry {
		buf = append(buf, entry...)
		return joulebox.Sum(buf), buf
	}
	h := joulebox.NewHasher()
	h.Write(buf)
	h.Write(entry)
	return h.ID(), buf
}

// Root is the head after the entries so far; of none, the zero id.
func (c *Chain) Root() joulebox.ID { return c.head }

// Len is the number of entries so far, the salt included.
func (c *Chain) Len() uint64 { return c.length }

func checkEntry(n uint64, entry []byte) error {
	// The salt's head is 0x58 0x20: a byte string of 32.
	if n == 1 && (len(entry) != 2+SaltSize || entry[0] != 0x58 || entry[1] != SaltSize) {
		return errors.New("want a salt: a CBOR byte string of 32 bytes")
	}
	return dcbor.Check(entry)
}

// Root reads a whole container and returns its root and its number of entries.
func Root(container []byte) (root joulebox.ID, entries uint64, err error) {
	var c Chain
	for entry, err := range Entries(container) {
		if err != nil {
			return joulebox.ID{}, 0, err
		}
		if err := c.Append(entry); err != nil {
			return joulebox.ID{}, 0, err
		}
	}
	if c.length == 0 {
		return joulebox.ID{}, 0, errors.New("journal: got no entry, want at least the salt")
	}
	return c.head, c.length, nil
}
