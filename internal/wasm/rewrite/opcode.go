package rewrite

// opcode names an instruction: the byte itself, or the number behind a prefix
// byte plus miscBase or simdBase.
type opcode uint16

const (
	miscBase opcode = 0x100
	simdBase opcode = 0x200
)

// The opcodes that the code names; all others are only looked up.
const (
	opUnreachable  opcode = 0x00
	opNop          opcode = 0x01
	opBlock        opcode = 0x02
	opLoop         opcode = 0x03
	opIf           opcode = 0x04
	opElse         opcode = 0x05
	opEnd          opcode = 0x0b
	opBr           opcode = 0x0c
	opBrIf         opcode = 0x0d
	opBrTable      opcode = 0x0e
	opReturn       opcode = 0x0f
	opCall         opcode = 0x10
	opCallIndirect opcode = 0x11
	opDrop         opcode = 0x1a
	opSelect       opcode = 0x1b
	opSelectT      opcode = 0x1c
	opLocalGet     opcode = 0x20
	opLocalSet     opcode = 0x21
	opLocalTee     opcode = 0x22
	opGlobalGet    opcode = 0x23
	opGlobalSet    opcode = 0x24
	opTableGet     opcode = 0x25
	opTableSet     opcode = 0x26
	opF32Store     opcode = 0x38
	opF64Store     opcode = 0x39
	opMemorySize   opcode = 0x3f
	opMemoryGrow   opcode = 0x40
	opI32Const     opcode = 0x41
	opI64Const     opcode = 0x42
	opF32Const     opcode = 0x43
	opF64Const     opcode = 0x44
	opI32Add       opcode = 0x6a
	opI32Sub       opcode = 0x6b
	opI32Eqz       opcode = 0x45
	opI32GeU       opcode = 0x4f
	opI64LtS       opcode = 0x53
	opI64GeS       opcode = 0x59
	opF32Eq        opcode = 0x5b
	opF32Ge        opcode = 0x60
	opF64Eq        opcode = 0x61
	opF64Ge        opcode = 0x66
	opI64Add       opcode = 0x7c
	opI64Sub       opcode = 0x7d
	opI64Mul       opcode = 0x7e
	opI64Shl       opcode = 0x86
	opI64ExtendU   opcode = 0xad
	opRefNull      opcode = 0xd0
	opRefIsNull    opcode = 0xd1
	opRefFunc      opcode = 0xd2
	opMemoryInit   opcode = miscBase + 8
	opMemoryCopy   opcode = miscBase + 10
	opMemoryFill   opcode = miscBase + 11
	opTableInit    opcode = miscBase + 12
	opTableCopy    opcode = miscBase + 14
	opTableGrow    opcode = miscBase + 15
	opTableSize    opcode = miscBase + 16
	opTableFill    opcode = miscBase + 17
	opV128Const    opcode = simdBase + 12
	opF32x4Eq      opcode = simdBase + 65
	opF64x2Eq      opcode = simdBase + 71
	opBitselect    opcode = simdBase + 82
)

// immKind says what follows an opcode.
type immKind uint8

const (
	immNone         immKind = iota
	immBlock                // block type
	immLabel                // label
	immLabels               // labels and a default
	immFunc                 // function
	immCallIndirect         // type, table
	immLocal                // local
	immGlobal               // global
	immTable                // table
	immElem                 // element segment
	immData                 // data segment
	immMem                  // alignment, offset
	immMemLane              // alignment, offset, lane
	immMemory               // a zero byte, the memory
	immMemMem               // two of them
	immDataMem              // data segment, memory
	immElemTable            // element segment, table
	immTableTable           // table, table
	immI32                  // constants
	immI64                  //
	immF32                  //
	immF64                  //
	immV128                 //
	immSelect               // list of one type
	immRefType              // reference type
	immLane                 // lane
	immShuffle              // sixteen lanes
)

// opInfo is one row of the instruction tables. Special instructions have no
// fixed signature; out 0 is no result.
type opInfo struct {
	name    string
	in      string // operand types, deepest first, one ValType byte each
	out     ValType
	imm     immKind
	align   uint8 // largest alignment of a memory access, as a power of two
	lanes   uint8 // lanes that an immediate may pick from
	special bool
}

// isVector reports whether the instruction is one of the v128 instructions.
func (op opcode) isVector() bool { return op >= simdBase }

// info finds the table row; nil if there is no such instruction.
func (op opcode) info() *opInfo {
	var in *opInfo
	switch {
	case op < miscBase:
		in = &plainOps[op]
	case op < simdBase:
		in = &miscOps[op-miscBase]
	default:
		in = &simdOps[op-simdBase]
	}
	if in.name == "" {
		return nil
	}
	return in
}

// String is the instruction's name.
func (op opcode) String() string {
	if in := op.info(); in != nil {
		return in.name
	}
	return "unknown instruction"
}

// refused names the proposal that an opcode outside of the tables belongs to,
// so that the refusal can say what the module wants.
func refusedOpcode(op opcode) string {
	switch {
	case op == 0x12 || op == 0x13 || op == 0x15:
		return "tail calls"
	case op == 0x14 || op >= 0xd3 && op <= 0xd6 || op == 0xfb:
		return "typed function references and gc"
	case op >= 0x06 && op <= 0x0a || op == 0x18 || op == 0x19 || op == 0x1f:
		return "exceptions"
	case op == 0xfe:
		return "threads"
	}
	return ""
}
