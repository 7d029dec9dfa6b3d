package wat

import (
	"encoding/binary"
	"slices"
)

// enc appends the binary format to a buffer.
type enc struct{ b []byte }

func (e *enc) raw(b ...byte)  { e.b = append(e.b, b...) }
func (e *enc) bytes(b []byte) { e.b = append(e.b, b...) }
func (e *enc) u32(v uint32)   { e.b = binary.AppendUvarint(e.b, uint64(v)) }

func (e *enc) name(s string) {
	e.u32(uint32(len(s)))
	e.b = append(e.b, s...)
}

// signed appends a signed LEB128.
func (e *enc) signed(v int64) {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			e.raw(c)
			return
		}
		e.raw(c | 0x80)
	}
}

// sized appends bytes after their length.
func (e *enc) sized(b []byte) {
	e.u32(uint32(len(b)))
	e.bytes(b)
}

// vector appends items after their number.
func (e *enc) vector(items []encoded) {
	e.u32(uint32(len(items)))
	for _, i := range items {
		e.bytes(i)
	}
}

// section appends a section of items, if there are any.
func (e *enc) section(id byte, items []encoded) {
	if len(items) > 0 {
		s := &enc{}
		s.vector(items)
		e.raw(id)
		e.sized(s.b)
	}
}

// encode writes the module, its sections in their order.
func (m *module) encode() []byte {
	e := &enc{b: []byte("\x00asm\x01\x00\x00\x00")}
	types := make([]encoded, len(m.signatures))
	for i, s := range m.signatures {
		types[i] = s.bytes()
	}
	funcs := make([]encoded, len(m.funcTypes))
	for i, t := range m.funcTypes {
		funcs[i] = binary.AppendUvarint(nil, uint64(t))
	}
	e.section(1, types)
	e.section(2, m.imports)
	e.section(3, funcs)
	e.section(4, m.tableDefs)
	e.section(5, m.memoryDefs)
	e.section(6, m.globalDefs)
	e.section(7, m.exports)
	if m.start != nil {
		e.raw(8)
		e.sized(binary.AppendUvarint(nil, uint64(*m.start)))
	}
	e.section(9, m.elemDefs)
	if m.counts {
		e.raw(12)
		e.sized(binary.AppendUvarint(nil, uint64(len(m.dataDefs))))
	}
	e.section(10, m.codes)
	e.section(11, m.dataDefs)
	m.encodeNames(e)
	return e.b
}

// encodeNames writes what the functions are called, for traces.
func (m *module) encodeNames(e *enc) {
	if len(m.funcNames) == 0 {
		return
	}
	slices.SortFunc(m.funcNames, func(a, b named) int { return int(a.index) - int(b.index) })
	names := &enc{}
	names.u32(uint32(len(m.funcNames)))
	for _, n := range m.funcNames {
		names.u32(n.index)
		names.name(n.name)
	}
	s := &enc{}
	s.name("name")
	s.raw(1)
	s.sized(names.b)
	e.raw(0)
	e.sized(s.b)
}
