package host

import (
	"bytes"
	"encoding/binary"
)

// DefaultEntry is the export that a module is called by when nobody says: "run"
// if it exports such a function, else "_start", which makes it a WASI command.
// It goes by the export section alone; whether the module is valid is for the
// engine to say, so whatever can't be read here counts as not exported.
func DefaultEntry(image []byte) string {
	const function = 0
	for name, kind := range exports(image) {
		if kind == function && name == "run" {
			return "run"
		}
	}
	return "_start"
}

// exports yields the name and kind of each export.
func exports(image []byte) func(yield func(string, byte) bool) {
	return func(yield func(string, byte) bool) {
		s := wasmReader{bytes.NewReader(exportSection(image))}
		for n := s.number(); n > 0; n-- {
			name := s.name()
			kind, err := s.ReadByte()
			s.number()
			if err != nil || !yield(name, kind) {
				return
			}
		}
	}
}

func exportSection(image []byte) []byte {
	const header, exportID = 8, 7
	if len(image) < header {
		return nil
	}
	for rest := image[header:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil
		}
		body := rest[1+n : 1+n+int(size)]
		if id == exportID {
			return body
		}
		rest = rest[1+n+int(size):]
	}
	return nil
}

type wasmReader struct{ *bytes.Reader }

// number is zero where there is none: the loop around it ends.
func (r wasmReader) number() uint64 {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return 0
	}
	return n
}

func (r wasmReader) name() string {
	n := r.number()
	if n > uint64(r.Len()) {
		return ""
	}
	b := make([]byte, n)
	_, _ = r.Read(b) // a name that is cut short is followed by no kind
	return string(b)
}
