package rewrite

// Units. Each executed instruction is one unit, but for those that are only
// structure: block, loop, else, end and nop are free. A vector instruction is
// Options.SIMDWeight units. Instructions that act on a length n that the guest
// chooses are charged for it before they act:
//
//	memory.copy, memory.fill, memory.init   n/8 (bytes)
//	table.copy, table.fill, table.init      n (entries)
//	memory.grow                             8192 a page, once the growth is admitted
//	table.grow                              n (entries), likewise
const (
	bulkShift    = 3
	unitsPerPage = 1 << 16 >> bulkShift
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
