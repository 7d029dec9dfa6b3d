package rewrite

// fast rewrites bodies with the tank in a local.
type fast struct {
	o      *output
	g      *graph
	ps     []plan
	weight int64
	refill uint32 // function (i64) -> (i64): asks for more and notes what it got

	c      *code
	p      *plan
	e      enc
	pay    charges
	looks  looks
	loops  int // seen so far
	nan    nanFlow
	frames []outFrame
	depth  uint32 // blocks open in the output
	since  int64  // units drawn since the last look at the tank, in the order of the code
	fixed  int    // locals with an index that the guest can tell: parameters, ours, its own
	extra  []ValType
	temps  map[ValType][]uint32
	vecs   int // local that counts vector instructions, or -1
}

// outFrame is an open block of the guest's.
type outFrame struct {
	op    opcode
	label uint32 // depth just inside of the block that branches go to
	sig   uint32 // raw type
	look  bool   // a loop that looks at the tank
}

// local is the new index of a guest's local.
func (w *fast) local(i uint32) uint32 {
	if int(i) < len(w.c.typ.Params) {
		return i
	}
	return i + w.p.extraParams()
}

func (p *plan) extraParams() uint32 { return uint32(b2i(p.tank)) + uint32(b2i(p.stack)) }

func (w *fast) tank() uint32 { return uint32(len(w.c.typ.Params)) }
func (w *fast) stackLocal() uint32 {
	return uint32(len(w.c.typ.Params)) + 1
}

// temp is the k-th temporary of a type.
func (w *fast) temp(t ValType, k int) uint32 {
	for len(w.temps[t]) <= k {
		w.temps[t] = append(w.temps[t], uint32(w.fixed+len(w.extra)))
		w.extra = append(w.extra, t)
	}
	return w.temps[t][k]
}

// body rewrites the body that c has just validated.
func (w *fast) body(f uint32, c *code) {
	w.c, w.p = c, &w.ps[f]
	w.e, w.frames, w.depth, w.since = enc{b: w.e.b[:0]}, w.frames[:0], 0, 0
	w.fixed, w.extra, w.temps, w.vecs = len(c.locals)+int(w.p.extraParams()), w.extra[:0], map[ValType][]uint32{}, -1
	if w.p.tank {
		w.pay.plan(c, w.weight, w.ps, w.exitsByType)
		w.looks.plan(c, w.ps, w.o.m.importedFuncs, w.looksByType)
		w.loops = 0
		if w.p.vectors > 0 {
			w.vecs = int(w.temp(I64, 0))
		}
	}
	follow := w.nan.start(c)
	if follow {
		w.nan.begin()
		w.nan.clean = w
	}
	w.prologue(f)
	for k := range c.ins {
		if w.p.tank {
			w.charge(w.pay.at[k])
		}
		if follow {
			w.nan.step(&c.ins[k])
		}
		w.instr(&c.ins[k])
		if s := c.ins[k].op.arithmetic(); s != notFloat && !follow {
			w.e.cleanTop(s, w.temp(s.typ(), 0))
		}
	}
	w.finish(f)
}

func (w *fast) exitsByType(t uint32) bool { return w.g.typeExits[w.g.canon[t]] }
func (w *fast) looksByType(t uint32) bool { return w.g.typeLooks[w.g.canon[t]] }

// finish adds the function with its locals declared.
func (w *fast) finish(f uint32) {
	if w.p.tank {
		w.flush()
		w.e.op1(opLocalGet, w.tank())
	}
	w.e.op(opEnd)
	var b enc
	b.localGroups(w.c.locals[len(w.c.typ.Params):], w.extra)
	b.bytes(w.e.b)
	w.o.addFunc(w.rewritten(f), b.b)
}

// rewritten is the index of a function's new type.
func (w *fast) rewritten(f uint32) uint32 {
	return w.o.typeIndex(w.ps[f].signature(w.o.m.funcType(f)))
}

func (p *plan) signature(t *FuncType) FuncType {
	if !p.tank {
		return *t
	}
	n := FuncType{append(append([]ValType{}, t.Params...), I64), append(append([]ValType{}, t.Results...), I64)}
	if p.stack {
		n.Params = append(n.Params, I64)
	}
	return n
}

// charge draws from the tank, and looks at it now and then.
func (w *fast) charge(c charge) {
	if c.units > 0 {
		w.draw(c.units)
		if w.since += c.units; w.since > checkEvery {
			w.look()
		}
	}
	if c.vectors > 0 {
		v := uint32(w.vecs)
		w.e.op1(opLocalGet, v)
		w.e.i64Const(c.vectors)
		w.e.op(opI64Add)
		w.e.op1(opLocalSet, v)
	}
}

func (w *fast) draw(units int64) {
	w.e.op1(opLocalGet, w.tank())
	w.e.i64Const(units)
	w.e.op(opI64Sub)
	w.e.op1(opLocalSet, w.tank())
}

// look fetches more if the tank is below zero.
func (w *fast) look() {
	w.since = 0
	w.wellIf(w.tank(), rawEmpty)
	w.e.op(opElse)
	w.fetch()
	w.close()
}

func (w *fast) fetch() {
	w.e.op1(opLocalGet, w.tank())
	w.e.op1(opCall, w.refill)
	w.e.op1(opLocalSet, w.tank())
}

// flush adds the function's vector instructions to the module's count.
func (w *fast) flush() {
	if w.vecs < 0 {
		return
	}
	w.e.op1(opGlobalGet, w.o.simdCount())
	w.e.op1(opLocalGet, uint32(w.vecs))
	w.e.op(opI64Add)
	w.e.op1(opGlobalSet, w.o.simdCount())
}
