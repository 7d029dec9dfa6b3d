package dcbor

import "unicode/utf8"

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
