package netstack

import "sync"

// chunk is a buffer that is large only while there is much to carry, so that an
// idle connection costs little.
type chunk struct {
	few   []byte
	many  *[]byte
	last  int
	large bool // there is memory for it
}

const (
	fewBytes = 4 << 10
	// manyBytes are whole packets, since what is left over becomes a small one.
	manyBytes = 8 * (mtu - 40 - 32)
)

var chunks = sync.Pool{New: func() any { b := make([]byte, manyBytes); return &b }}

// room is where to read to next; what filled gave before is over.
func (c *chunk) room() []byte {
	switch {
	case c.few == nil:
		c.few = make([]byte, fewBytes)
	case c.many == nil && c.last == fewBytes && c.large:
		c.many = chunks.Get().(*[]byte)
	case c.many != nil && c.last < fewBytes:
		c.free()
	}
	return c.current()
}

// filled gives the n bytes that were read to the room.
func (c *chunk) filled(n int) []byte {
	c.last = n
	return c.current()[:n]
}

func (c *chunk) current() []byte {
	if c.many != nil {
		return *c.many
	}
	return c.few
}

func (c *chunk) free() {
	if c.many != nil {
		chunks.Put(c.many)
		c.many = nil
	}
}
