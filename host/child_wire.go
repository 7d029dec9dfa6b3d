package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// wire writes the fields of a message, or reads them: one definition serves both
// ways, so what is read writes the same bytes again. Numbers are little-endian and
// of fixed size, bytes and lists have their length in front.
//
// What comes from a host process is hostile: nothing is believed before it was
// looked at, and nothing is made larger than what has arrived.
type wire struct {
	buf     []byte // written, or yet to be read
	reading bool
	err     error
}

var errWire = errors.New("message ends within a field")

func (w *wire) fail(err error) {
	if w.err == nil {
		w.err = err
	}
	w.buf = nil
}

// take is the next n bytes to be read.
func (w *wire) take(n int) []byte {
	if w.err != nil || n < 0 || n > len(w.buf) {
		w.fail(errWire)
		return nil
	}
	b := w.buf[:n]
	w.buf = w.buf[n:]
	return b
}

func (w *wire) u64(v *uint64) {
	if !w.reading {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, *v)
	} else if b := w.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

func (w *wire) u32(v *uint32) {
	if !w.reading {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, *v)
	} else if b := w.take(4); b != nil {
		*v = binary.LittleEndian.Uint32(b)
	}
}

func (w *wire) byte(v *byte) {
	if !w.reading {
		w.buf = append(w.buf, *v)
	} else if b := w.take(1); b != nil {
		*v = b[0]
	}
}

func (w *wire) bool(v *bool) {
	var b byte
	if *v {
		b = 1
	}
	w.byte(&b)
	if b > 1 {
		w.fail(fmt.Errorf("got %d, want a boolean", b))
	}
	*v = b == 1
}

// length is that of bytes or of a list whose elements take least bytes each.
func (w *wire) length(n int, least int) int {
	v := uint32(n)
	if !w.reading && n > math.MaxUint32 {
		w.fail(fmt.Errorf("%d bytes are too many", n))
	}
	w.u32(&v)
	if w.reading && int64(v)*int64(least) > int64(len(w.buf)) {
		w.fail(errWire)
		return 0
	}
	return int(v)
}

func (w *wire) bytes(v *[]byte) {
	n := w.length(len(*v), 1)
	if !w.reading {
		w.buf = append(w.buf, *v...)
	} else if b := w.take(n); n > 0 && b != nil {
		*v = append([]byte(nil), b...)
	}
}

func (w *wire) text(v *string) {
	n := w.length(len(*v), 1)
	if !w.reading {
		w.buf = append(w.buf, *v...)
	} else if b := w.take(n); b != nil {
		*v = string(b)
	}
}

func (w *wire) texts(v *[]string) { list(w, v, 4, (*wire).text) }

func (w *wire) numbers(v *[]uint64) { list(w, v, 8, (*wire).u64) }

// list is a list whose elements take least bytes each.
func list[T any](w *wire, v *[]T, least int, each func(*wire, *T)) {
	n := w.length(len(*v), least)
	if w.reading {
		*v = nil
		if n > 0 && w.err == nil {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		if w.err != nil {
			return
		}
		each(w, &(*v)[i])
	}
}

// message is anything with fields.
type message interface{ fields(*wire) }

func encode(m message) ([]byte, error) {
	w := &wire{}
	m.fields(w)
	return w.buf, w.err
}

// decode reads a message, all of it and nothing after it.
func decode(b []byte, m message) error {
	w := &wire{buf: b, reading: true}
	m.fields(w)
	if w.err == nil && len(w.buf) > 0 {
		w.err = fmt.Errorf("%d bytes after the end", len(w.buf))
	}
	return w.err
}
