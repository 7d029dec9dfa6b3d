package cose

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// maxHead is the longest head of a CBOR item.
const maxHead = 9

// Error says where an envelope leaves the profile and what was wanted there.
type Error struct {
	Offset int // byte offset into the envelope
	Msg    string
}

func (e *Error) Error() string { return fmt.Sprintf("cose: byte %d: %s", e.Offset, e.Msg) }

type message struct{ payload, signature []byte }

// cursor walks an envelope; the first fault sticks.
type cursor struct {
	b   []byte
	at  int
	err error
}

func parse(b []byte) (message, error) {
	c := &cursor{b: b}
	c.skip(tagSign1)
	return c.sign1()
}

// parseCWT takes 61 over 18, 18, or neither; 61 alone over an untagged array is
// refused, as RFC 8392 §6 wants a COSE tag inside.
func parseCWT(b []byte) (message, error) {
	c := &cursor{b: b}
	if c.skip(tagCWT) {
		c.want(tagSign1, "CWT", "tag 18 inside tag 61")
	} else {
		c.skip(tagSign1)
	}
	return c.sign1()
}

func (c *cursor) sign1() (message, error) {
	c.want(array4, "envelope", "a COSE_Sign1 array of exactly 4 elements, untagged or with tag 18")
	c.want(protected, "protected header", "43a10127: a byte string of {1: -8} (EdDSA) and nothing else")
	c.want(emptyMap, "unprotected header", "a0: an empty map")
	payload := c.bytes("payload")
	signature := c.bytes("signature")
	if c.err == nil && len(signature) != 64 {
		c.at -= len(signature)
		c.fail("signature: got %d bytes, want 64", len(signature))
	}
	if c.err == nil && c.at != len(c.b) {
		c.fail("got %d bytes after the message, want none", len(c.b)-c.at)
	}
	if c.err != nil {
		return message{}, c.err
	}
	return message{payload, signature}, nil
}

// skip takes prefix if it is next.
func (c *cursor) skip(prefix string) bool {
	ok := bytes.HasPrefix(c.b[c.at:], []byte(prefix))
	if ok {
		c.at += len(prefix)
	}
	return ok
}

func (c *cursor) want(prefix, field, what string) {
	if c.err == nil && !c.skip(prefix) {
		c.fail("%s: got %s, want %s", field, c.peek(), what)
	}
}

// bytes takes a definite, shortest-headed byte string.
func (c *cursor) bytes(field string) []byte {
	if c.err != nil {
		return nil
	}
	rest := c.b[c.at:]
	if len(rest) == 0 {
		c.fail("%s: got the end of the input, want a byte string", field)
		return nil
	}
	n, size := byteHead(rest)
	switch {
	case rest[0] == 0xf6 || rest[0] == 0xf7:
		c.fail("%s: got null (detached), want it attached as a byte string", field)
	case rest[0]>>5 != 2 || rest[0]&31 > 27:
		c.fail("%s: got %s, want a byte string of definite length", field, c.peek())
	case size == 0:
		c.fail("%s: its length is cut short or not in its shortest form", field)
	case n > uint64(len(rest)-size):
		c.fail("%s: claims %d bytes, and %d are left", field, n, len(rest)-size)
	default:
		c.at += size + int(n)
		return rest[size : size+int(n) : size+int(n)]
	}
	return nil
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Offset: c.at, Msg: fmt.Sprintf(format, args...)}
	}
}

// peek shows the next few bytes to a person.
func (c *cursor) peek() string {
	rest := c.b[c.at:]
	if len(rest) == 0 {
		return "the end of the input"
	}
	more := ""
	if len(rest) > 12 {
		rest, more = rest[:12], "…"
	}
	return strings.ToLower(hex.EncodeToString(rest)) + more
}

// byteHead reads the length of a byte string; size 0 means cut short or longer
// than needed.
func byteHead(b []byte) (n uint64, size int) {
	ai := b[0] & 31
	if ai < 24 {
		return uint64(ai), 1
	}
	width := 1 << (ai - 24)
	if ai > 27 || len(b) < 1+width {
		return 0, 0
	}
	for _, x := range b[1 : 1+width] {
		n = n<<8 | uint64(x)
	}
	if len(appendHead(nil, n)) != 1+width {
		return 0, 0
	}
	return n, 1 + width
}

// appendBytes appends p as a byte string.
func appendBytes(dst, p []byte) []byte { return append(appendHead(dst, uint64(len(p))), p...) }

// appendHead appends the shortest head of a byte string of n bytes.
func appendHead(dst []byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, 0x40|byte(n))
	case n <= math.MaxUint8:
		return append(dst, 0x58, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0x59), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 0x5a), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0x5b), n)
}
