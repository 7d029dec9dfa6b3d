package dcbor

import (
	"bytes"
	"fmt"
	"slices"
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
	w, g := entries(want), entries(got)
	if len(w)+len(g) == 0 || want.item[0]>>5 != got.item[0]>>5 {
		if bytes.Equal(want.item, got.item) {
			return nil
		}
		return fail(want.offset, "%sthe value here is not written again as it was read", want.path)
	}
	for _, e := range g {
		if !slices.ContainsFunc(w, e.sameKey) {
			return fail(want.offset, "%smissing map key %s; add it", want.path, Show(e.key))
		}
	}
	for _, e := range w {
		i := slices.IndexFunc(g, e.sameKey)
		if i < 0 {
			return fail(e.offset, "%sunknown key, or a value that is always left out; remove it", e.path)
		}
		if err := difference(e, g[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e entry) sameKey(o entry) bool { return bytes.Equal(e.key, o.key) }

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
