package dcbor

import (
	"bytes"
	"fmt"
)

// differ says what a value did not write again of b: a key that is missing, or an
// item that is written otherwise. The value's own encoding may hold what Check
// refuses (nil where a byte string is missing).
func differ(b, again []byte) error {
	d := difference(entry{item: b}, entry{item: again})
	if d == nil {
		return fail(0, "BUG(joulebox): differs from its re-encoding, and no difference was found")
	}
	return d
}

// entry is an encoded item with its key and its place in the input.
type entry struct {
	key, item []byte
	offset    int
	path      string // what leads to it, for people: "devices"/0
}

func difference(want, got entry) error {
	if bytes.Equal(want.item, got.item) {
		return nil
	}
	w, g := entries(want), entries(got)
	if len(w)+len(g) == 0 || want.item[0]>>5 != got.item[0]>>5 {
		return fail(want.offset, "%sthe value here is not written again as it was read", want.path)
	}
	return merge(want, w, g)
}

// merge walks two lists whose keys ascend, as those of deterministic maps do.
func merge(want entry, w, g []entry) error {
	for len(w)+len(g) > 0 {
		switch c := compareFirst(w, g); {
		case c > 0:
			return fail(want.offset, "%smissing map key %s; add it", want.path, Show(g[0].key))
		case c < 0:
			return fail(w[0].offset, "%sunknown key, or a value that is always left out; remove it", w[0].path)
		}
		if err := difference(w[0], g[0]); err != nil {
			return err
		}
		w, g = w[1:], g[1:]
	}
	return nil
}

// compareFirst orders the first keys of two lists; an empty list comes last.
func compareFirst(w, g []entry) int {
	switch {
	case len(g) == 0:
		return -1
	case len(w) == 0:
		return 1
	}
	return bytes.Compare(w[0].key, g[0].key)
}

// entries are the members of a map or an array, whose keys are their indices.
func entries(e entry) (list []entry) {
	h, err := readHead(e.item, 0)
	if err != nil || h.major != arrayType && h.major != mapType {
		return nil
	}
	at := h.size
	for i := range h.arg {
		m := entry{key: appendHead(nil, uintType, i)}
		if h.major == mapType {
			end := skip(e.item, at)
			m.key, at = e.item[at:end], end
		}
		end := skip(e.item, at)
		m.item, m.offset, m.path = e.item[at:end], e.offset+at, fmt.Sprintf("%s%s: ", trimColon(e.path), Show(m.key))
		list, at = append(list, m), end
	}
	return list
}

// trimColon turns the path of a parent into the front of its child's.
func trimColon(path string) string {
	if path == "" {
		return ""
	}
	return path[:len(path)-2] + "/"
}

// skip is where the item at b[at:] ends; b is well formed.
func skip(b []byte, at int) int {
	c := canonizer{in: b, at: at}
	if c.item(0) != nil {
		return len(b)
	}
	return c.at
}
