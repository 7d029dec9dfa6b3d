package dcbor

import (
	"bytes"
	"unicode/utf8"
)

// Check refuses everything but one item in the encoding that is signed (§6.4):
// shortest heads, definite lengths, maps sorted bytewise by encoded key without
// duplicates, keys text or integers, valid UTF-8, nothing after the item; no
// floats, booleans, null, undefined or other simple values, no tags. It allocates
// nothing on bytes that pass. Refusals are *Error.
func Check(b []byte) error {
	end, err := checkItem(b, 0, 0)
	if err == nil && end != len(b) {
		return fail(end, "got %d bytes after the item, want none", len(b)-end)
	}
	return err
}

// checkItem checks the item at b[at:] and returns where it ends.
func checkItem(b []byte, at, depth int) (int, error) {
	if depth > MaxDepth {
		return 0, fail(at, "nested deeper than %d levels", MaxDepth)
	}
	h, err := strictHead(b, at)
	if err != nil {
		return 0, err
	}
	body := at + h.size
	switch h.major {
	case uintType, negType:
		return body, nil
	case bytesType, textType:
		return checkString(b, at, h)
	case arrayType:
		return checkArray(b, at, h, depth)
	default:
		return checkMap(b, at, h, depth)
	}
}

// strictHead reads a head that the strict language has.
func strictHead(b []byte, at int) (head, error) {
	h, err := readHead(b, at)
	switch {
	case err != nil:
		return head{}, err
	case h.major == simpleType:
		return head{}, fail(at, "got %s, which may not be signed", simpleName(h))
	case h.info == indefinite:
		return head{}, fail(at, "got a %s of indefinite length, want a definite one", majorNames[h.major])
	case !h.shortest():
		return head{}, fail(at, "the head of this %s takes %d bytes, want the shortest form of %d", majorNames[h.major], h.size, headSize(h.arg))
	case h.major == tagType:
		return head{}, fail(at, "got tag %d, which may not be signed", h.arg)
	}
	return h, nil
}

func simpleName(h head) string {
	switch h.info {
	case 20, 21:
		return "a boolean"
	case 22:
		return "null"
	case 23:
		return "undefined"
	case 25, 26, 27:
		return "a float"
	case indefinite:
		return "a break outside of an item of indefinite length"
	}
	return "a simple value"
}

func checkString(b []byte, at int, h head) (int, error) {
	body := at + h.size
	if h.arg > uint64(len(b)-body) {
		return 0, fail(at, "this %s claims %d bytes, and %d are left", majorNames[h.major], h.arg, len(b)-body)
	}
	end := body + int(h.arg)
	if h.major == textType && !utf8.Valid(b[body:end]) {
		return 0, fail(at, "text string is not valid UTF-8")
	}
	return end, nil
}

func checkArray(b []byte, at int, h head, depth int) (int, error) {
	end := at + h.size
	if h.arg > uint64(len(b)-end) {
		return 0, fail(at, "this array claims %d items, and %d bytes are left", h.arg, len(b)-end)
	}
	var err error
	for range h.arg {
		if end, err = checkItem(b, end, depth+1); err != nil {
			return 0, err
		}
	}
	return end, nil
}

func checkMap(b []byte, at int, h head, depth int) (int, error) {
	end := at + h.size
	if h.arg > uint64(len(b)-end)/2 {
		return 0, fail(at, "this map claims %d pairs, and %d bytes are left", h.arg, len(b)-end)
	}
	var previous []byte
	for range h.arg {
		start := end
		if start < len(b) {
			if major := b[start] >> 5; major == bytesType || major == arrayType || major == mapType {
				return 0, fail(start, "got a %s as a map key, want a text string or an integer", majorNames[major])
			}
		}
		var err error
		if end, err = checkItem(b, start, depth+1); err != nil {
			return 0, err
		}
		if err := checkOrder(previous, b[start:end], start); err != nil {
			return 0, err
		}
		previous = b[start:end]
		if end, err = checkItem(b, end, depth+1); err != nil {
			return 0, err
		}
	}
	return end, nil
}

func checkOrder(previous, key []byte, at int) error {
	switch c := bytes.Compare(previous, key); {
	case previous == nil || c < 0:
		return nil
	case c == 0:
		return fail(at, "duplicate map key")
	}
	return fail(at, "map keys out of order: this key sorts before the one in front of it (bytewise by encoding)")
}
