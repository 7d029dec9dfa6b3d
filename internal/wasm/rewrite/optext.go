package rewrite

import (
	"encoding/binary"
	"sync"
)

// Op is an instruction as an assembler needs it.
type Op struct {
	Bytes []byte // the opcode with its prefix
	Imm   Imm    // what follows
	Align uint32 // the natural alignment of a memory access, as a power of two
	Lanes uint32 // lanes that an immediate may pick from
}

// Imm names what follows an opcode.
type Imm = immKind

// The immediates of the text format.
const (
	ImmNone         = immNone
	ImmBlock        = immBlock
	ImmLabel        = immLabel
	ImmLabels       = immLabels
	ImmFunc         = immFunc
	ImmCallIndirect = immCallIndirect
	ImmLocal        = immLocal
	ImmGlobal       = immGlobal
	ImmTable        = immTable
	ImmElem         = immElem
	ImmData         = immData
	ImmMem          = immMem
	ImmMemLane      = immMemLane
	ImmMemory       = immMemory
	ImmMemMem       = immMemMem
	ImmDataMem      = immDataMem
	ImmElemTable    = immElemTable
	ImmTableTable   = immTableTable
	ImmI32          = immI32
	ImmI64          = immI64
	ImmF32          = immF32
	ImmF64          = immF64
	ImmV128         = immV128
	ImmSelect       = immSelect
	ImmRefType      = immRefType
	ImmLane         = immLane
	ImmShuffle      = immShuffle
)

// OpByName finds an instruction by its name in the text format. A select is the
// one without a type.
func OpByName(name string) (Op, bool) {
	op, ok := opsByName()[name]
	return op, ok
}

var opsByName = sync.OnceValue(func() map[string]Op {
	ops := make(map[string]Op, 512)
	add := func(prefix []byte, base opcode, count int) {
		for i := range count {
			in := (base + opcode(i)).info()
			if in == nil || base+opcode(i) == opSelectT {
				continue
			}
			code := prefix
			if base == 0 {
				code = []byte{byte(i)}
			} else {
				code = binary.AppendUvarint(prefix[:1:1], uint64(i))
			}
			ops[in.name] = Op{Bytes: code, Imm: in.imm, Align: uint32(in.align), Lanes: uint32(in.lanes)}
		}
	}
	add(nil, 0, len(plainOps))
	add([]byte{0xfc}, miscBase, len(miscOps))
	add([]byte{0xfd}, simdBase, len(simdOps))
	return ops
})
