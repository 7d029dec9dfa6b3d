package rewrite

import "unicode/utf8"

// reader walks a window of the module; positions are absolute, so that each
// error can name its byte.
type reader struct {
	b   []byte
	pos int
	end int
}

// left is how many bytes the window still holds.
func (r *reader) left() int { return r.end - r.pos }

// window cuts the next n bytes off as a reader of its own.
func (r *reader) window(n uint32, what string) reader {
	if uint64(n) > uint64(r.left()) {
		fail(r.pos, "%s: got a size of %d bytes, want at most the %d that are left", what, n, r.left())
	}
	w := reader{b: r.b, pos: r.pos, end: r.pos + int(n)}
	r.pos = w.end
	return w
}

func (r *reader) byte(what string) byte {
	if r.pos >= r.end {
		fail(r.pos, "%s: the module or section ends here", what)
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

func (r *reader) skip(n int, what string) {
	if n > r.left() {
		fail(r.pos, "%s: want %d bytes, got %d", what, n, r.left())
	}
	r.pos += n
}

// u32 reads an unsigned LEB128 of at most five bytes, unused bits zero.
func (r *reader) u32(what string) uint32 {
	if r.pos < r.end && r.b[r.pos] < 0x80 { // nearly always
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	start := r.pos
	var v uint32
	for shift := 0; ; shift += 7 {
		c := r.byte(what)
		if shift == 28 && c > 0x0f {
			fail(start, "%s: integer takes more than 32 bits or five bytes", what)
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
}

// signed reads a signed LEB128 of the given width, unused bits copies of the sign.
func (r *reader) signed(bits int, what string) int64 {
	start := r.pos
	var v int64
	for shift := 0; ; shift += 7 {
		c := r.byte(what)
		v |= int64(c&0x7f) << shift
		if spare := shift + 7 - bits; spare >= 0 {
			// The last byte may hold: its used bits, then only copies of the sign.
			top := int8(c<<1) >> (7 - spare)
			if c >= 0x80 || top != 0 && top != -1 {
				fail(start, "%s: integer takes more than %d bits or %d bytes", what, bits, (bits+6)/7)
			}
		}
		if c < 0x80 {
			if shift+7 < 64 {
				v = v << (57 - shift) >> (57 - shift)
			}
			return v
		}
	}
}

// count reads a vector length. No honest vector has more items than the bytes
// that are left could hold, so nothing is ever allocated for a mere claim.
func (r *reader) count(what string, itemBytes int, limit int) int {
	at := r.pos
	n := r.u32(what)
	if uint64(n)*uint64(itemBytes) > uint64(r.left()) {
		fail(at, "%s: got a count of %d, but only %d bytes are left", what, n, r.left())
	}
	if int(n) > limit {
		failLimit(at, "%s: got %d, want at most %d", what, n, limit)
	}
	return int(n)
}

// name reads a UTF-8 string.
func (r *reader) name(what string) string {
	at := r.pos
	w := r.window(r.u32(what), what)
	s := r.b[w.pos:w.end]
	if !utf8.Valid(s) {
		fail(at, "%s: not valid utf-8", what)
	}
	return string(s)
}
