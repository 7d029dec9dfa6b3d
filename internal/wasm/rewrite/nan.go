package rewrite

import "encoding/binary"

// A NaN is made canonical not where it arises but where its bits can be seen: in
// memory, as an integer, in a call, a global, a sign. So a chain of arithmetic
// pays once, at its end, and a sum that a loop keeps in a local pays after the
// loop. What the guest sees is as if each operation had made its NaN canonical.
//
// dirt is what is known of a value on the operand stack or in a local.
type dirt uint8

const (
	exact dirt = iota // its bits are what the guest means, payloads too
	known             // no NaN, or the canonical one: making it canonical changes nothing
	dirty             // plus its shape: a NaN among it has bits of the machine's choice
	_
	_
	_
	_
	clash // dirty on one way here, exact on another: the dirty way has to be cleaned
	unset // nothing has come here yet
)

func dirtyAs(s nanShape) dirt   { return dirty + dirt(s) }
func (d dirt) isDirty() bool    { return d > dirty && d < clash }
func (d dirt) shape() nanShape  { return nanShape(d - dirty) }
func (d dirt) needsClean() bool { return d == exact || d == clash }
func (d dirt) settled() dirt {
	if d == clash || d == unset {
		return exact
	}
	return d
}

// merge is what is known where two ways meet.
func (d dirt) merge(x dirt) dirt {
	switch {
	case d == unset || d == x:
		return x
	case x == unset:
		return d
	case d == known && x != clash:
		return x
	case x == known && d != clash:
		return d
	}
	return clash
}

// madeDirt is what a constant or conversion makes of a float.
func madeDirt(b []byte, in *instr) dirt {
	switch op := in.op; {
	case op == opF32Const:
		return constDirt32(binary.LittleEndian.Uint32(b[in.end-4:]))
	case op == opF64Const:
		return constDirt64(binary.LittleEndian.Uint64(b[in.end-8:]))
	case op == opV128Const:
		return vectorDirt(b[in.end-16 : in.end])
	case op >= 0xb2 && op <= 0xb5 || op >= 0xb7 && op <= 0xba: // from an integer
		return known
	}
	return exact
}

func constDirt32(v uint32) dirt {
	if v&0x7fffffff > 0x7f800000 && v != 0x7fc00000 {
		return exact
	}
	return known
}

func constDirt64(v uint64) dirt {
	if v&(1<<63-1) > 0x7ff0000000000000 && v != 0x7ff8000000000000 {
		return exact
	}
	return known
}

// vectorDirt: a vector constant is harmless only in both readings.
func vectorDirt(b []byte) dirt {
	for k := 0; k < 16; k += 4 {
		if constDirt32(binary.LittleEndian.Uint32(b[k:])) == exact {
			return exact
		}
	}
	for k := 0; k < 16; k += 8 {
		if constDirt64(binary.LittleEndian.Uint64(b[k:])) == exact {
			return exact
		}
	}
	return known
}

// blind reports whether an instruction can't tell NaNs of the shape apart, and
// what it makes of such an operand; exact stands for a result that holds none.
func (op opcode) blind(d dirt) (result dirt, ok bool) {
	if s := op.arithmetic(); s != notFloat && op < simdBase {
		return dirtyAs(s), true
	}
	switch {
	case op >= 0x5b && op <= 0x66, op >= 0xa8 && op <= 0xab, op >= 0xae && op <= 0xb1, op >= miscBase && op <= miscBase+7:
		return exact, true // comparisons and truncations
	case op == 0x8b || op == 0x99: // abs
		return d, true
	case op >= simdBase:
		return (op - simdBase).blindLanes(d)
	}
	return exact, false
}

func (op opcode) blindLanes(d dirt) (dirt, bool) {
	switch {
	case op == 19 && d == dirtyAs(shapeF32): // splats
		return dirtyAs(shapeF32x4), true
	case op == 20 && d == dirtyAs(shapeF64):
		return dirtyAs(shapeF64x2), true
	}
	if d.shape() != op.lanesIn() {
		return exact, false
	}
	switch op {
	case 31:
		return dirtyAs(shapeF32), true
	case 33:
		return dirtyAs(shapeF64), true
	case 224, 236: // abs
		return d, true
	}
	if s := op.arithmeticLanes(); s != notFloat {
		return dirtyAs(s), true
	}
	return exact, true // comparisons
}

// lanesIn is the shape that a blind vector instruction reads its operands in.
func (op opcode) lanesIn() nanShape {
	switch {
	case op == 94:
		return shapeF64x2
	case op == 95:
		return shapeF32x4
	case op == 31, op == 224, op >= 65 && op <= 70, op.arithmeticLanes() == shapeF32x4, op == 248, op == 249:
		return shapeF32x4
	case op == 33, op == 236, op >= 71 && op <= 76, op.arithmeticLanes() == shapeF64x2, op == 252, op == 253:
		return shapeF64x2
	}
	return notFloat
}
