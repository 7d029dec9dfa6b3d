package rewrite

// Units. Each executed instruction is one unit, but for those that are only
// structure: block, loop, else, end and nop are free. A vector instruction is
// Options.SIMDWeight units. Instructions that act on a length which the guest
// chooses are charged for it, before they act, at one unit for each byte moved,
// set or made; an entry of a table has eight:
//
//	memory.copy, memory.fill, memory.init   a byte
//	table.copy, table.fill, table.init      eight an entry
//	memory.grow                             65536 a page, once the growth is admitted
//	table.grow                              eight an entry, likewise
//
// A processor of today does some ten units in a nanosecond, and ten bytes.
const (
	entryShift   = 3
	unitsPerPage = 1 << 16
)

// cost is the fixed part of an instruction's units.
func (op opcode) cost(simdWeight int64) int64 {
	switch op {
	case opBlock, opLoop, opElse, opEnd, opNop:
		return 0
	}
	if op.isVector() {
		return simdWeight
	}
	return 1
}

// bulk is how an instruction's length is charged.
type bulk uint8

const (
	bulkNone  bulk = iota
	bulkBytes      // length is the operand on top, in bytes
	bulkItems      // in table entries
	bulkGrow       // memory.grow
	bulkTGrow      // table.grow
)

func (op opcode) bulk() bulk {
	switch op {
	case opMemoryCopy, opMemoryFill, opMemoryInit:
		return bulkBytes
	case opTableCopy, opTableFill, opTableInit:
		return bulkItems
	case opMemoryGrow:
		return bulkGrow
	case opTableGrow:
		return bulkTGrow
	}
	return bulkNone
}

// bulkUnits pushes the units that the length in local n costs.
func (e *enc) bulkUnits(kind bulk, n uint32) {
	e.op1(opLocalGet, n)
	e.op(opI64ExtendU)
	switch kind {
	case bulkItems, bulkTGrow:
		e.i64Const(entryShift)
		e.op(opI64Shl)
	case bulkGrow:
		e.i64Const(unitsPerPage)
		e.op(opI64Mul)
	}
}
