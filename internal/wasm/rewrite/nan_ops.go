package rewrite

// nanShape says how the bits of a float value are laid out.
type nanShape uint8

const (
	notFloat nanShape = iota
	shapeF32
	shapeF64
	shapeF32x4
	shapeF64x2
)

// arithmetic is the shape of what an instruction makes if it may be a NaN whose
// bits the standard leaves open, which is to say to the machine: the sign and
// payload that x86 and arm give to the same sum differ. Comparisons, moves, sign
// operations, and the pseudo-minimum of vectors are exact and not among them.
func (op opcode) arithmetic() nanShape {
	switch {
	case op >= 0x8d && op <= 0x97: // f32.ceil … f32.max
		return shapeF32
	case op >= 0x9b && op <= 0xa5: // f64.ceil … f64.max
		return shapeF64
	case op == 0xb6: // f32.demote_f64
		return shapeF32
	case op == 0xbb: // f64.promote_f32
		return shapeF64
	case op >= simdBase:
		return (op - simdBase).arithmeticLanes()
	}
	return notFloat
}

func (op opcode) arithmeticLanes() nanShape {
	switch {
	case op == 94, op >= 103 && op <= 106, op >= 227 && op <= 233: // demote; ceil … nearest; sqrt … max
		return shapeF32x4
	case op == 95, op == 116, op == 117, op == 122, op == 148, op >= 239 && op <= 245:
		return shapeF64x2
	}
	return notFloat
}

// canonical appends code that replaces any NaN on top of the stack, lane by
// lane, by the positive one without payload. temp is a local of the value's type.
func (e *enc) canonical(shape nanShape, temp uint32) {
	e.op1(opLocalTee, temp)
	e.canonicalNaN(shape)
	e.op1(opLocalGet, temp)
	e.op1(opLocalGet, temp)
	switch shape {
	case shapeF32:
		e.op(opF32Eq)
		e.op(opSelect)
	case shapeF64:
		e.op(opF64Eq)
		e.op(opSelect)
	case shapeF32x4:
		e.op(opF32x4Eq)
		e.op(opBitselect)
	case shapeF64x2:
		e.op(opF64x2Eq)
		e.op(opBitselect)
	}
}

// cleanLocal does the same for a local, with a branch that is never taken in
// earnest: one comparison, where a select takes eight instructions.
func (e *enc) cleanLocal(shape nanShape, local uint32) {
	ge := opF32Ge
	switch shape {
	case shapeF32x4, shapeF64x2:
		e.op1(opLocalGet, local)
		e.canonical(shape, local)
		e.op1(opLocalSet, local)
		return
	case shapeF64:
		ge = opF64Ge
	}
	e.op1(opLocalGet, local)
	e.op1(opLocalGet, local)
	e.op(ge)
	e.block(opIf, rawEmpty)
	e.op(opElse)
	e.canonicalNaN(shape)
	e.op1(opLocalSet, local)
	e.op(opEnd)
}

// cleanTop does the same for the top of the stack.
func (e *enc) cleanTop(shape nanShape, temp uint32) {
	e.op1(opLocalSet, temp)
	e.cleanLocal(shape, temp)
	e.op1(opLocalGet, temp)
}

func (e *enc) canonicalNaN(shape nanShape) {
	nan32 := []byte{0, 0, 0xc0, 0x7f}
	nan64 := []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
	lane, n := nan32, 1
	switch shape {
	case shapeF32:
		e.op(opF32Const)
	case shapeF64:
		e.op(opF64Const)
		lane = nan64
	case shapeF32x4:
		e.op(opV128Const)
		n = 4
	case shapeF64x2:
		e.op(opV128Const)
		lane, n = nan64, 2
	}
	for range n {
		e.bytes(lane)
	}
}

// typ is the value type that holds the shape.
func (s nanShape) typ() ValType {
	return [...]ValType{notFloat: anyType, shapeF32: F32, shapeF64: F64, shapeF32x4: V128, shapeF64x2: V128}[s]
}
