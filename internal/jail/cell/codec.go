package cell

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// codec writes the fields of a message, or reads them: one definition serves both
// ways. Numbers are fixed, bytes and lists have their length in front. It spares the
// first process what a general decoder has to find out each time it starts.
type codec struct {
	buf     []byte // written, or yet to be read
	reading bool
	err     error
}

var errCodec = errors.New("a message ends within a field; was joulebox replaced while it ran?")

// take is the next n bytes to be read.
func (c *codec) take(n int) []byte {
	if c.err != nil || n < 0 || n > len(c.buf) {
		c.err, c.buf = errCodec, nil
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

func (c *codec) u64(v *uint64) {
	if !c.reading {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, *v)
	} else if b := c.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

// number passes any integer or boolean through 8 bytes.
func number[T ~int | ~uint16 | ~uint32 | ~uint64 | ~uintptr](c *codec, v *T) {
	n := uint64(*v)
	c.u64(&n)
	*v = T(n)
}

func (c *codec) bool(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	c.u64(&n)
	*v = n != 0
}

// length is that of something whose elements take least bytes each.
func (c *codec) length(n, least int) int {
	number(c, &n)
	if c.reading && (n < 0 || n > len(c.buf)/least) {
		c.err, c.buf = errCodec, nil
		return 0
	}
	return n
}

func (c *codec) bytes(v *[]byte) {
	n := c.length(len(*v), 1)
	if !c.reading {
		c.buf = append(c.buf, *v...)
	} else if b := c.take(n); n > 0 && b != nil {
		*v = append([]byte(nil), b...)
	}
}

func (c *codec) text(v *string) {
	b := []byte(*v)
	c.bytes(&b)
	*v = string(b)
}

func (c *codec) texts(v *[]string) { list(c, v, (*codec).text) }

// list passes a list whose elements take 8 bytes at least.
func list[T any](c *codec, v *[]T, each func(*codec, *T)) {
	n := c.length(len(*v), 8)
	if c.reading {
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		each(c, &(*v)[i])
	}
}

// message is anything with fields.
type message interface{ fields(*codec) }

func encode(m message) ([]byte, error) {
	c := &codec{}
	m.fields(c)
	return c.buf, c.err
}

// decode reads a message, all of it and nothing after it.
func decode(b []byte, m message) error {
	c := &codec{buf: b, reading: true}
	m.fields(c)
	if c.err == nil && len(c.buf) > 0 {
		c.err = fmt.Errorf("a message has %d bytes after its end", len(c.buf))
	}
	return c.err
}
