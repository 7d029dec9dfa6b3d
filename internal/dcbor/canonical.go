package dcbor

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Canonical is the core deterministic encoding (RFC 8949 §4.2.1) of one valid
// item: shortest heads, definite lengths, maps sorted bytewise by encoded key,
// floats in the shortest of the three widths that keeps their value, big numbers
// without leading zeros and as plain integers where they fit (§3.4.3).
//
// Where the RFC leaves a choice: every NaN becomes f97e00, whatever its payload
// (§4.2.2); tags are kept; 1 and 1.0 stay different, and -0.0 stays a float.
//
// Refused: what is not well formed, invalid UTF-8, keys that are equal once
// encoded so, content of a type that its tag does not allow (§3.4), nesting
// beyond MaxDepth, bytes after the item. Refusals are *Error.
func Canonical(b []byte) ([]byte, error) {
	c := &canonizer{in: b, out: make([]byte, 0, len(b))}
	if err := c.item(0); err != nil {
		return nil, err
	}
	if c.at != len(b) {
		return nil, fail(c.at, "got %d bytes after the item, want none", len(b)-c.at)
	}
	return c.out, nil
}

// canonizer copies items from in[at:] to the end of out.
type canonizer struct {
	in  []byte
	at  int
	out []byte
}

func (c *canonizer) item(depth int) error {
	if depth > MaxDepth {
		return fail(c.at, "nested deeper than %d levels", MaxDepth)
	}
	h, err := readHead(c.in, c.at)
	if err != nil {
		return err
	}
	if h.info == indefinite && (h.major <= negType || h.major == tagType) {
		return fail(c.at, "additional information 31 is not for a %s", majorNames[h.major])
	}
	switch h.major {
	case uintType, negType:
		c.at += h.size
		c.out = appendHead(c.out, h.major, h.arg)
		return nil
	case bytesType, textType:
		return c.str(h)
	case arrayType:
		return c.array(h, depth)
	case mapType:
		return c.pairs(h, depth)
	case tagType:
		return c.tag(h, depth)
	}
	return c.simple(h)
}

// str copies a string and joins the chunks of an indefinite one.
func (c *canonizer) str(h head) error {
	start := c.at
	c.at += h.size
	if h.info != indefinite {
		body, err := c.chunk(h, start)
		if err != nil {
			return err
		}
		c.out = append(appendHead(c.out, h.major, h.arg), body...)
		return nil
	}
	var joined []byte
	for !c.brk() {
		at := c.at
		inner, err := readHead(c.in, at)
		if err != nil {
			return err
		}
		if inner.major != h.major || inner.info == indefinite {
			return fail(at, "got a %s as a chunk of a %s, want a definite %s", majorNames[inner.major], majorNames[h.major], majorNames[h.major])
		}
		c.at += inner.size
		body, err := c.chunk(inner, at)
		if err != nil {
			return err
		}
		joined = append(joined, body...)
	}
	c.out = append(appendHead(c.out, h.major, uint64(len(joined))), joined...)
	return nil
}

// chunk takes the content of a definite string; each chunk of a text string is
// valid by itself (RFC 8949 §3.2.3).
func (c *canonizer) chunk(h head, start int) ([]byte, error) {
	if h.arg > uint64(len(c.in)-c.at) {
		return nil, fail(start, "this %s claims %d bytes, and %d are left", majorNames[h.major], h.arg, len(c.in)-c.at)
	}
	body := c.in[c.at : c.at+int(h.arg)]
	if h.major == textType && !utf8.Valid(body) {
		return nil, fail(start, "text string is not valid UTF-8")
	}
	c.at += len(body)
	return body, nil
}

// brk takes a break if it is next.
func (c *canonizer) brk() bool {
	if c.at < len(c.in) && c.in[c.at] == breakByte {
		c.at++
		return true
	}
	return false
}

// more reports whether the array or map with head h goes on after n members; it
// takes the break that ends an indefinite one.
func (c *canonizer) more(h head, n uint64) bool {
	if h.info == indefinite {
		return !c.brk()
	}
	return n < h.arg
}

func (c *canonizer) array(h head, depth int) error {
	if err := c.count(h, 1); err != nil {
		return err
	}
	from := len(c.out)
	if h.info != indefinite {
		c.out = appendHead(c.out, arrayType, h.arg)
	}
	n := uint64(0)
	for ; c.more(h, n); n++ {
		if err := c.item(depth + 1); err != nil {
			return err
		}
	}
	if h.info == indefinite {
		c.out = slices.Insert(c.out, from, appendHead(nil, arrayType, n)...)
	}
	return nil
}

// count takes the head of an array or map, whose members take at least width
// bytes each: a count that can't be true allocates nothing.
func (c *canonizer) count(h head, width uint64) error {
	start := c.at
	c.at += h.size
	if left := uint64(len(c.in) - c.at); h.info != indefinite && h.arg > left/width {
		return fail(start, "this %s claims %d members, and %d bytes are left", majorNames[h.major], h.arg, left)
	}
	return nil
}

// pair is where a key and its value lie in out, and where the key was read.
type pair struct{ key, value, end, read int }

func (c *canonizer) pairs(h head, depth int) error {
	if err := c.count(h, 2); err != nil {
		return err
	}
	from := len(c.out)
	if h.info != indefinite {
		c.out = appendHead(c.out, mapType, h.arg)
	}
	var list []pair
	for n := uint64(0); c.more(h, n); n++ {
		p := pair{key: len(c.out), read: c.at}
		if err := c.item(depth + 1); err != nil {
			return err
		}
		p.value = len(c.out)
		if err := c.item(depth + 1); err != nil {
			return err
		}
		p.end = len(c.out)
		list = append(list, p)
	}
	return c.arrange(h, from, list)
}

// arrange puts the pairs that were written from out[from:] in order, behind their
// head. Pairs that are in order already stay where they are.
func (c *canonizer) arrange(h head, from int, list []pair) error {
	key := func(p pair) []byte { return c.out[p.key:p.value] }
	compare := func(a, b pair) int { return bytes.Compare(key(a), key(b)) }
	inOrder := slices.IsSortedFunc(list, compare)
	if !inOrder {
		slices.SortStableFunc(list, compare)
	}
	for i := 1; i < len(list); i++ {
		if compare(list[i-1], list[i]) == 0 {
			return fail(list[i].read, "duplicate map key %s", Show(key(list[i])))
		}
	}
	if inOrder && h.info != indefinite {
		return nil
	}
	written := appendHead(make([]byte, 0, len(c.out)-from+9), mapType, uint64(len(list)))
	for _, p := range list {
		written = append(written, c.out[p.key:p.end]...)
	}
	c.out = append(c.out[:from], written...)
	return nil
}
