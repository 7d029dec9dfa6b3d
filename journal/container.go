package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
)

// CBOR's byte string heads: major type 2 with the length in the head, or in the
// 1, 2, 4 or 8 bytes after it.
const (
	bstr   = 0x40
	bstr8  = 0x58
	bstr16 = 0x59
	bstr32 = 0x5a
	bstr64 = 0x5b
)

// AppendEntry adds one entry to a container: its length as a shortest CBOR byte
// string head, then its bytes.
func AppendEntry(container, entry []byte) []byte {
	switch n := uint64(len(entry)); {
	case n < 24:
		container = append(container, bstr|byte(n))
	case n <= math.MaxUint8:
		container = append(container, bstr8, byte(n))
	case n <= math.MaxUint16:
		container = binary.BigEndian.AppendUint16(append(container, bstr16), uint16(n))
	case n <= math.MaxUint32:
		container = binary.BigEndian.AppendUint32(append(container, bstr32), uint32(n))
	default:
		container = binary.BigEndian.AppendUint64(append(container, bstr64), n)
	}
	return append(container, entry...)
}

// Entries splits a container. The entries share its memory and aren't checked
// themselves; Chain.Append does that. A container that breaks off, or whose
// heads aren't shortest, ends the iteration with an error.
func Entries(container []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at := 0; at < len(container); {
			n, head, err := readHead(container[at:])
			if err == nil && n > uint64(len(container)-at-head) {
				err = fmt.Errorf("want %d bytes, got %d: the journal breaks off", n, len(container)-at-head)
			}
			if err != nil {
				yield(nil, fmt.Errorf("journal: at byte %d: %w", at, err))
				return
			}
			end := at + head + int(n)
			if !yield(container[at+head:end:end], nil) {
				return
			}
			at = end
		}
	}
}

// readHead reads a byte string's head: the length it states and its own.
func readHead(b []byte) (n uint64, head int, err error) {
	first := b[0]
	if first < bstr || first > bstr64 {
		return 0, 0, fmt.Errorf("got head 0x%02x, want a byte string", first)
	}
	if first < bstr8 {
		return uint64(first - bstr), 1, nil
	}
	width := 1 << (first - bstr8)
	if len(b) < 1+width {
		return 0, 0, errors.New("the journal breaks off in a head")
	}
	for _, c := range b[1 : 1+width] {
		n = n<<8 | uint64(c)
	}
	if n < 24 || width > 1 && n>>(4*width) == 0 {
		return 0, 0, fmt.Errorf("got a head of %d bytes for a length of %d, want the shortest", 1+width, n)
	}
	return n, 1 + width, nil
}
