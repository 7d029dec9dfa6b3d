package rewrite

// reference rewrites a body in the plainest way: the tank is a global, each
// stretch of instructions up to a branch or call is charged where it begins,
// every charge is checked, and every NaN is made canonical where it arises. It
// is slow, and the measure that the fast way is held against.
type reference struct {
	o      *output
	g      *graph
	weight int64
	c      *code
	e      enc
	temp   map[ValType]uint32
	depth  uint32 // open blocks, the one around the body counted
}

// body rewrites the body that c has just validated.
func (r *reference) body(f uint32, c *code) {
	r.c, r.e, r.depth = c, enc{b: r.e.b[:0]}, 0
	r.locals()
	recursive := r.g.recursive[f]
	if recursive {
		r.draw(int64(r.g.facts[f].words))
	}
	r.e.block(opBlock, r.o.blockOf(c.typ.Results))
	fresh := true // a stretch begins
	for k := range c.ins {
		if fresh {
			r.chargeFrom(k)
		}
		r.instr(&c.ins[k])
		fresh = endsStretch(c.ins[k].op)
	}
	if recursive {
		r.draw(-int64(r.g.facts[f].words))
	}
	r.e.op(opEnd)
	r.o.addFunc(r.o.m.funcs[f], r.e.b)
}

// locals declares the guest's, and one temporary of each type in use.
func (r *reference) locals() {
	own := r.c.locals[len(r.c.typ.Params):]
	next := uint32(len(r.c.locals))
	types := []ValType{I32, F32, F64}
	if r.o.simd {
		types = append(types, V128)
	}
	r.temp = map[ValType]uint32{}
	for _, t := range types {
		r.temp[t] = next
		next++
	}
	r.e.localGroups(own, types)
}

// draw takes words from the stack allowance, or gives them back.
func (r *reference) draw(words int64) {
	e := &r.e
	e.op1(opGlobalGet, r.o.stack())
	e.i64Const(words)
	e.op(opI64Sub)
	e.op1(opGlobalSet, r.o.stack())
	if words < 0 {
		return
	}
	e.op1(opGlobalGet, r.o.stack())
	e.i64Const(0)
	e.op(opI64LtS)
	e.block(opIf, rawEmpty)
	e.op1(opCall, r.o.hook(hookOverflow))
	e.op(opUnreachable)
	e.op(opEnd)
}

// endsStretch reports whether what follows may run more or fewer times, or not
// at all after a call that ended the run.
func endsStretch(op opcode) bool {
	switch op {
	case opLoop, opIf, opElse, opEnd, opBr, opBrIf, opBrTable, opReturn, opUnreachable, opCall, opCallIndirect:
		return true
	}
	return false
}

func (r *reference) chargeFrom(k int) {
	var units, vectors int64
	for ; k < len(r.c.ins); k++ {
		op := r.c.ins[k].op
		units += op.cost(r.weight)
		if op.isVector() {
			vectors++
		}
		if endsStretch(op) {
			break
		}
	}
	if units > 0 {
		r.e.op1(opGlobalGet, r.o.fuel())
		r.e.i64Const(units)
		r.drawFuel()
	}
	if vectors > 0 {
		r.e.op1(opGlobalGet, r.o.simdCount())
		r.e.i64Const(vectors)
		r.e.op(opI64Add)
		r.e.op1(opGlobalSet, r.o.simdCount())
	}
}

// drawFuel takes the units on the stack from the fuel below them, and checks.
func (r *reference) drawFuel() {
	e, fuel := &r.e, r.o.fuel()
	e.op(opI64Sub)
	e.op1(opGlobalSet, fuel)
	e.op1(opGlobalGet, fuel)
	e.i64Const(0)
	e.op(opI64LtS)
	e.block(opIf, rawEmpty)
	e.op1(opGlobalGet, fuel)
	e.op1(opCall, r.o.hook(hookTick))
	e.op1(opGlobalSet, fuel)
	e.op(opEnd)
}

func (r *reference) instr(in *instr) {
	e := &r.e
	switch in.op {
	case opCall:
		e.op1(opCall, r.o.fn(in.a))
	case opRefFunc:
		e.op1(opGlobalGet, r.o.refGlobal(r.o.inTable(in.a)))
	case opReturn:
		e.op1(opBr, r.depth)
	case opBlock, opLoop, opIf:
		r.depth++
		e.bytes(r.c.m.b[in.off:in.end])
	case opEnd:
		r.depth--
		e.op(opEnd)
	default:
		r.bulk(in)
		e.bytes(r.c.m.b[in.off:in.end])
		if s := in.op.arithmetic(); s != notFloat {
			e.canonical(s, r.temp[s.typ()])
		}
	}
}

// bulk charges what the length on top of the stack adds.
func (r *reference) bulk(in *instr) {
	e, n := &r.e, r.temp[I32]
	kind := in.op.bulk()
	if kind == bulkNone {
		return
	}
	e.op1(opLocalSet, n)
	if kind == bulkGrow || kind == bulkTGrow {
		r.o.growHook(e, in, n)
	}
	e.op1(opGlobalGet, r.o.fuel())
	e.bulkUnits(kind, n)
	r.drawFuel()
	if kind == bulkGrow || kind == bulkTGrow {
		e.op(opEnd)
	}
	e.op1(opLocalGet, n)
}

// meterPlainly is Meter in the plain way.
func meterPlainly(b []byte, opt Options) ([]byte, error) {
	m, g, _, err := prepare(b, &opt)
	if err != nil {
		return nil, err
	}
	out := newOutput(m)
	r := &reference{o: out, g: g, weight: opt.SIMDWeight}
	m.eachBody(r.body)
	return out.bytes(), nil
}
