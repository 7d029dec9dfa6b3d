package wat

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// immediates writes an instruction with what follows it.
func (f *function) immediates(n *node, op rewrite.Op, c *cursor) {
	e := f.e
	if op.Imm == rewrite.ImmNone && n.text == "select" && c.peek() != nil && c.peek().is("result") {
		s := readSignature(c, false)
		e.raw(opSelectT)
		e.sized(s.results)
		return
	}
	e.bytes(op.Bytes)
	switch op.Imm {
	case rewrite.ImmNone:
	case rewrite.ImmLabel:
		e.u32(f.label(c.need("a label")))
	case rewrite.ImmLabels:
		f.labelTable(c)
	case rewrite.ImmFunc:
		e.u32(f.funcs.index(c.need("a function")))
	case rewrite.ImmCallIndirect:
		table := optional(&f.tables, c)
		t, _ := f.typeUseOf(c, false)
		e.u32(t)
		e.u32(table)
	case rewrite.ImmLocal:
		e.u32(f.locals.index(c.need("a local")))
	case rewrite.ImmGlobal:
		e.u32(f.globals.index(c.need("a global")))
	case rewrite.ImmTable:
		e.u32(optional(&f.tables, c))
	case rewrite.ImmElem:
		e.u32(f.elems.index(c.need("an element segment")))
	case rewrite.ImmData:
		f.counts = true
		e.u32(f.datas.index(c.need("a data segment")))
	case rewrite.ImmRefType:
		f.heapType(c.need("func or extern"))
	default:
		f.memoryImmediates(op, c)
	}
}

// memoryImmediates writes what follows instructions on memories, tables in twos,
// and constants.
func (f *function) memoryImmediates(op rewrite.Op, c *cursor) {
	e := f.e
	switch op.Imm {
	case rewrite.ImmMem:
		f.access(op, c)
	case rewrite.ImmMemLane:
		f.access(op, c)
		f.lane(op, c)
	case rewrite.ImmLane:
		f.lane(op, c)
	case rewrite.ImmShuffle:
		for range 16 {
			f.lane(op, c)
		}
	case rewrite.ImmMemory:
		e.u32(optional(&f.memories, c))
	case rewrite.ImmMemMem:
		e.u32(optional(&f.memories, c))
		e.u32(optional(&f.memories, c))
	case rewrite.ImmDataMem:
		f.counts = true
		memory, data := f.pair(c, &f.memories, &f.datas)
		e.u32(data)
		e.u32(memory)
	case rewrite.ImmElemTable:
		table, elem := f.pair(c, &f.tables, &f.elems)
		e.u32(elem)
		e.u32(table)
	case rewrite.ImmTableTable:
		e.u32(optional(&f.tables, c))
		e.u32(optional(&f.tables, c))
	default:
		f.number(op, c)
	}
}

// optional is an index that is 0 when it is left out.
func optional(s *space, c *cursor) uint32 {
	if isIndex(c.peek()) {
		return s.index(c.take())
	}
	return 0
}

// pair reads an index that may be left out, before one that may not.
func (f *function) pair(c *cursor, where, what *space) (uint32, uint32) {
	at := uint32(0)
	if len(c.rest) > 1 && isIndex(&c.rest[0]) && isIndex(&c.rest[1]) {
		at = where.index(c.take())
	}
	return at, what.index(c.need("a " + what.what))
}

// label counts from the innermost.
func (f *function) label(n *node) uint32 {
	if !n.isID() {
		v, ok := parseUint(n.text, 32)
		if n.kind != tokAtom || !ok {
			n.fail("got %s, want a label: its $name or how many blocks out it is", n.what())
		}
		return uint32(v)
	}
	for i := len(f.labels) - 1; i >= 0; i-- {
		if f.labels[i] == n.text {
			return uint32(len(f.labels) - 1 - i)
		}
	}
	n.fail("there is no label %s here", n.text)
	return 0
}

func (f *function) labelTable(c *cursor) {
	var list []uint32
	for isIndex(c.peek()) {
		list = append(list, f.label(c.take()))
	}
	if len(list) == 0 {
		c.of.fail("br_table without a label, want at least the default")
	}
	f.e.u32(uint32(len(list) - 1))
	for _, l := range list {
		f.e.u32(l)
	}
}

func (f *function) heapType(n *node) {
	switch {
	case n.kind == tokAtom && n.text == "func":
		f.e.raw(typeFuncref)
	case n.kind == tokAtom && n.text == "extern":
		f.e.raw(typeExternref)
	default:
		n.fail("got %s, want func or extern", n.what())
	}
}

// access reads offset=N and align=N.
func (f *function) access(op rewrite.Op, c *cursor) {
	offset, align := uint64(0), uint64(1)<<op.Align
	if isIndex(c.peek()) && len(c.rest) > 0 && op.Imm != rewrite.ImmMemLane {
		if m := f.memories.index(c.take()); m != 0 {
			c.of.fail("got memory %d, and there can be but one", m)
		}
	}
	for _, k := range []struct {
		key string
		to  *uint64
	}{{"offset=", &offset}, {"align=", &align}} {
		n := c.peek()
		if n == nil || n.kind != tokAtom || !strings.HasPrefix(n.text, k.key) {
			continue
		}
		c.take()
		v, ok := parseUint(n.text[len(k.key):], 32)
		if !ok {
			n.fail("got %s, want a number up to 32 bits", n.text)
		}
		*k.to = v
		if k.key == "align=" && bits.OnesCount64(v) != 1 {
			n.fail("got %s, want a power of two", n.text)
		}
	}
	f.e.u32(uint32(bits.TrailingZeros64(align)))
	f.e.u32(uint32(offset))
}

func (f *function) lane(op rewrite.Op, c *cursor) {
	n := c.need("a lane")
	v, ok := parseUint(n.text, 8)
	if n.kind != tokAtom || !ok || op.Lanes > 0 && v >= uint64(op.Lanes) {
		n.fail("got %s, want a lane below %d", n.what(), op.Lanes)
	}
	f.e.raw(byte(v))
}

// number writes a constant.
func (f *function) number(op rewrite.Op, c *cursor) {
	switch op.Imm {
	case rewrite.ImmI32:
		f.e.signed(int64(int32(readInt(c, 32))))
	case rewrite.ImmI64:
		f.e.signed(int64(readInt(c, 64)))
	case rewrite.ImmF32:
		f.e.b = binary.LittleEndian.AppendUint32(f.e.b, uint32(readFloat(c, 32)))
	case rewrite.ImmF64:
		f.e.b = binary.LittleEndian.AppendUint64(f.e.b, readFloat(c, 64))
	case rewrite.ImmV128:
		f.vector(c)
	}
}

func readInt(c *cursor, bits int) uint64 {
	n := c.need("an integer")
	v, ok := parseInt(n.text, bits)
	if n.kind != tokAtom || !ok {
		n.fail("got %s, want an integer of %d bits", n.what(), bits)
	}
	return v
}

func readFloat(c *cursor, bits int) uint64 {
	n := c.need("a number")
	v, ok := parseFloat(n.text, bits)
	if n.kind != tokAtom || !ok {
		n.fail("got %s, want a number that fits %d bits", n.what(), bits)
	}
	return v
}

// shapes are how v128.const is written.
var shapes = map[string]struct {
	lanes, bits int
	float       bool
}{
	"i8x16": {16, 8, false}, "i16x8": {8, 16, false}, "i32x4": {4, 32, false}, "i64x2": {2, 64, false},
	"f32x4": {4, 32, true}, "f64x2": {2, 64, true},
}

func (f *function) vector(c *cursor) {
	n := c.need("a shape")
	s, ok := shapes[n.text]
	if n.kind != tokAtom || !ok {
		n.fail("got %s, want a shape: i8x16, i16x8, i32x4, i64x2, f32x4 or f64x2", n.what())
	}
	for range s.lanes {
		v := uint64(0)
		if s.float {
			v = readFloat(c, s.bits)
		} else {
			v = readInt(c, s.bits)
		}
		for b := 0; b < s.bits; b += 8 {
			f.e.raw(byte(v >> b))
		}
	}
}
