package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"sync"
	"unicode/utf8"
)

// capture keeps the head and the tail of what a unit writes, and counts the rest:
// however much it writes, no more than the limit is held.
type capture struct {
	mu    sync.Mutex
	limit int
	head  []byte
	tail  []byte // a ring of limit/2 bytes, once it is full
	next  int    // where the ring goes on
	total uint64
}

func newCapture(limit int) *capture { return &capture{limit: limit} }

// WriteContext never blocks, so it needs no ctx (host.ContextWriter).
func (c *capture) WriteContext(_ context.Context, p []byte) (int, error) { return c.Write(p) }

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += uint64(n)
	if room := c.limit - c.limit/2 - len(c.head); room > 0 {
		k := min(room, len(p))
		c.head, p = append(c.head, p[:k]...), p[k:]
	}
	c.ring(p)
	return n, nil
}

func (c *capture) ring(p []byte) {
	size := c.limit / 2
	if size == 0 {
		return
	}
	p = p[max(0, len(p)-size):]
	if room := size - len(c.tail); room > 0 {
		k := min(room, len(p))
		c.tail, p = append(c.tail, p[:k]...), p[k:]
	}
	for len(p) > 0 {
		k := copy(c.tail[c.next:], p)
		p, c.next = p[k:], (c.next+k)%size
	}
}

// stream is what of a unit's output goes into a result.
type stream struct {
	Encoding string `json:"encoding"` // of Data and Tail
	Data     string `json:"data"`
	Tail     string `json:"tail,omitzero"` // what came last, when something between was dropped
	Bytes    uint64 `json:"bytes"`
	Dropped  uint64 `json:"dropped_bytes"`
}

// The encodings of a stream.
const (
	encodingText   = "utf-8"
	encodingBase64 = "base64"
)

func (c *capture) stream() stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := append(append([]byte(nil), c.tail[c.next:]...), c.tail[:c.next]...)
	if c.total == uint64(len(c.head)+len(tail)) {
		return encode(append(append([]byte(nil), c.head...), tail...), nil, c.total)
	}
	// A character that the cut went through is dropped with the rest.
	if h, t := wholeEnd(c.head), wholeStart(tail); printable(h) && printable(t) {
		return encode(h, t, c.total)
	}
	return encode(c.head, tail, c.total)
}

func encode(data, tail []byte, total uint64) stream {
	s := stream{Encoding: encodingText, Bytes: total, Dropped: total - uint64(len(data)+len(tail))}
	if printable(data) && printable(tail) {
		s.Data, s.Tail = string(data), string(tail)
		return s
	}
	s.Encoding = encodingBase64
	s.Data, s.Tail = base64.StdEncoding.EncodeToString(data), base64.StdEncoding.EncodeToString(tail)
	return s
}

// printable is what can go into a JSON string as it is. A NUL is no text.
func printable(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// wholeEnd leaves out a character whose end was cut off.
func wholeEnd(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// wholeStart leaves out a character whose beginning was cut off.
func wholeStart(b []byte) []byte {
	for i := range min(len(b), utf8.UTFMax) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
