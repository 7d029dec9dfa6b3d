package rewrite

import "encoding/binary"

// enc appends binary format to a buffer.
type enc struct{ b []byte }

func (e *enc) raw(b ...byte)  { e.b = append(e.b, b...) }
func (e *enc) bytes(b []byte) { e.b = append(e.b, b...) }
func (e *enc) u32(v uint32)   { e.b = binary.AppendUvarint(e.b, uint64(v)) }

func (e *enc) s64(v int64) {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			e.b = append(e.b, c)
			return
		}
		e.b = append(e.b, c|0x80)
	}
}

func (e *enc) name(s string) {
	e.u32(uint32(len(s)))
	e.b = append(e.b, s...)
}

// op appends an instruction without its immediates.
func (e *enc) op(op opcode) {
	switch {
	case op >= simdBase:
		e.raw(0xfd)
		e.u32(uint32(op - simdBase))
	case op >= miscBase:
		e.raw(0xfc)
		e.u32(uint32(op - miscBase))
	default:
		e.raw(byte(op))
	}
}

// op1 appends an instruction with one index.
func (e *enc) op1(op opcode, i uint32) {
	e.op(op)
	e.u32(i)
}

func (e *enc) i64Const(v int64) {
	e.op(opI64Const)
	e.s64(v)
}

func (e *enc) i32Const(v int32) {
	e.op(opI32Const)
	e.s64(int64(v))
}

// block opens a block of a raw block type.
func (e *enc) block(op opcode, raw uint32) {
	e.op(op)
	if raw >= rawType {
		e.s64(int64(raw - rawType))
		return
	}
	e.raw(byte(raw))
}

// section appends a section with its size.
func (e *enc) section(id byte, content []byte) {
	e.raw(id)
	e.u32(uint32(len(content)))
	e.bytes(content)
}

// localGroups writes declarations, equal neighbours together.
func (e *enc) localGroups(lists ...[]ValType) {
	var groups enc
	n := uint32(0)
	var all []ValType
	for _, l := range lists {
		all = append(all, l...)
	}
	for k := 0; k < len(all); n++ {
		first := k
		for k < len(all) && all[k] == all[first] {
			k++
		}
		groups.u32(uint32(k - first))
		groups.raw(byte(all[first]))
	}
	e.u32(n)
	e.bytes(groups.b)
}
