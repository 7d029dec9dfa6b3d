package joulebox

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/zeebo/blake3"
)

// ID is a content address (§3): the BLAKE3-256 digest of an object's canonical
// bytes. Its text is "b3:" and 43 characters of unpadded base64url. The zero ID
// stands for "none"; no known bytes have it.
type ID [32]byte

const idPrefix = "b3:"

// Strict refuses unused trailing bits that aren't zero, so an id has one spelling.
var idEncoding = base64.RawURLEncoding.Strict()

// Sum is the content address of canonical bytes.
func Sum(canonical []byte) ID { return blake3.Sum256(canonical) }

// NewHasher returns a streaming BLAKE3 hasher; SumID ends it.
func NewHasher() *Hasher { return &Hasher{h: blake3.New()} }

// Hasher computes a content address over a stream. It is an io.Writer.
type Hasher struct{ h *blake3.Hasher }

// Write adds bytes; it never fails.
func (h *Hasher) Write(p []byte) (int, error) { return h.h.Write(p) }

// ID is the address of what was written so far.
func (h *Hasher) ID() (id ID) {
	h.h.Sum(id[:0])
	return id
}

// IsZero reports whether the id is absent.
func (id ID) IsZero() bool { return id == ID{} }

// idLength is that of the canonical spelling.
const idLength = len(idPrefix) + 43

// String is the canonical spelling, always 46 characters.
func (id ID) String() string {
	var text [idLength]byte
	return string(id.append(text[:0]))
}

func (id ID) append(b []byte) []byte { return idEncoding.AppendEncode(append(b, idPrefix...), id[:]) }

// ParseID accepts only the canonical spelling.
func ParseID(s string) (id ID, err error) {
	body, ok := strings.CutPrefix(s, idPrefix)
	if !ok || len(body) != 43 {
		return ID{}, fmt.Errorf("id: got %q, want b3: and 43 base64url characters", s)
	}
	// The decoder skips line breaks, which a canonical spelling never holds.
	if strings.ContainsAny(body, "\r\n") {
		return ID{}, fmt.Errorf("id: %q holds a line break", s)
	}
	n, err := idEncoding.Decode(id[:], []byte(body))
	if err != nil || n != len(id) {
		return ID{}, fmt.Errorf("id: %q is not canonical base64url of 32 bytes", s)
	}
	return id, nil
}

// MarshalText writes the canonical spelling.
func (id ID) MarshalText() ([]byte, error) { return id.append(make([]byte, 0, idLength)), nil }

// AppendText is MarshalText into the caller's bytes.
func (id ID) AppendText(b []byte) ([]byte, error) { return id.append(b), nil }

// UnmarshalText reads the canonical spelling.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := ParseID(string(b))
	if err == nil {
		*id = v
	}
	return err
}
