package journal

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/joulebox/joulebox"
)

// Parse reads one entry that isn't the salt. It refuses what encodes otherwise
// than it came. Its check isn't looked at: it stands for the place in a journal.
func Parse(entry []byte) (Entry, error) { return parse(entry, &Call{}) }

// parse puts a call into v, whose name and lists it uses again.
func parse(entry []byte, v *Call) (Entry, error) {
	d := decoder{b: entry, call: v}
	n := d.array(math.MaxInt)
	if check := d.bytes(); d.err == nil && len(check) != checkSize {
		d.fail("check: got %d bytes, want %d", len(check), checkSize)
	}
	k := d.uint()
	if d.err == nil && k >= uint64(len(lengths)) {
		d.fail("kind: got %d, want 0 to %d", k, len(lengths)-1)
	}
	if d.err == nil && n != lengths[k] {
		d.fail("got %d items, want %d for kind %d", n, lengths[k], k)
	}
	if d.err != nil {
		return nil, d.err
	}
	e := d.entry(kind(k))
	if d.err == nil && len(d.b) > 0 {
		d.fail("got %d bytes after the entry, want none", len(d.b))
	}
	if d.err != nil {
		return nil, d.err
	}
	return e, nil
}

// decoder reads deterministic CBOR from the front of b. After the first error it
// gives zero values.
type decoder struct {
	b    []byte
	err  error
	call *Call
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
		d.b = nil
	}
}

var majorNames = [...]string{"an unsigned number", "a negative number", "a byte string", "a text string", "an array", "a map", "a tag", "a simple value"}

func (d *decoder) head(major byte) uint64 {
	if d.err != nil {
		return 0
	}
	if len(d.b) == 0 {
		d.fail("the entry breaks off, want %s", majorNames[major])
		return 0
	}
	if got := d.b[0] >> 5; got != major {
		d.fail("got %s, want %s", majorNames[got], majorNames[major])
		return 0
	}
	n, size, err := readArgument(d.b)
	if err != nil {
		d.fail("%w", err)
		return 0
	}
	d.b = d.b[size:]
	return n
}

// readArgument reads the number in a CBOR head and how long the head is.
func readArgument(b []byte) (n uint64, size int, err error) {
	info := b[0] & 31
	if info < 24 {
		return uint64(info), 1, nil
	}
	if info > 27 {
		return 0, 0, fmt.Errorf("got head 0x%02x, want a definite length", b[0])
	}
	width := 1 << (info - 24)
	if len(b) < 1+width {
		return 0, 0, errors.New("breaks off in a head")
	}
	for _, c := range b[1 : 1+width] {
		n = n<<8 | uint64(c)
	}
	if n < 24 || width > 1 && n>>(4*width) == 0 {
		return 0, 0, fmt.Errorf("got a head of %d bytes for %d, want the shortest", 1+width, n)
	}
	return n, 1 + width, nil
}

func (d *decoder) uint() uint64 { return d.head(majorUint) }

func (d *decoder) u32() uint32 {
	n := d.uint()
	if n > math.MaxUint32 {
		d.fail("got %d, want at most %d", n, uint32(math.MaxUint32))
	}
	return uint32(n)
}

// array reads the head of an array, each of whose items takes a byte at least.
func (d *decoder) array(most int) int {
	n := d.head(majorArray)
	if n > uint64(len(d.b)) || n > uint64(most) {
		d.fail("got an array of %d items, want at most %d", n, min(len(d.b), most))
		return 0
	}
	return int(n)
}

// tuple is an array of that many items.
func (d *decoder) tuple(want int) {
	if n := d.array(math.MaxInt); d.err == nil && n != want {
		d.fail("got an array of %d items, want %d", n, want)
	}
}

func (d *decoder) string(major byte) []byte {
	n := d.head(major)
	if n > uint64(len(d.b)) {
		d.fail("a string of %d bytes breaks off", n)
		return nil
	}
	s := d.b[:n:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) bytes() []byte { return d.string(majorBytes) }
func (d *decoder) raw() string   { return string(d.string(majorBytes)) }

func (d *decoder) text() string {
	s := d.string(majorText)
	if !utf8.Valid(s) {
		d.fail("a text string isn't UTF-8")
	}
	return string(s)
}

func (d *decoder) id() (id joulebox.ID) {
	b := d.bytes()
	if d.err == nil && len(b) != len(id) {
		d.fail("got an id of %d bytes, want %d", len(b), len(id))
		return id
	}
	copy(id[:], b)
	return id
}

// hash is an id, or none.
func (d *decoder) hash() joulebox.ID {
	if len(d.b) > 0 && d.b[0] == majorBytes<<5 {
		d.bytes()
		return joulebox.ID{}
	}
	id := d.id()
	if d.err == nil && id.IsZero() {
		d.fail("got a state of zeros, want none as no bytes")
	}
	return id
}

func (d *decoder) uints(most int) []uint64 { return d.uintsInto(nil, most) }

func (d *decoder) uintsInto(list []uint64, most int) []uint64 {
	n := d.array(most)
	if list = list[:0]; cap(list) < n || list == nil {
		list = make([]uint64, 0, n)
	}
	for range n {
		list = append(list, d.uint())
	}
	return list
}
