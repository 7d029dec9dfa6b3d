package dcbor

import (
	"bytes"
	"slices"
)

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
