package rewrite

// instr writes one instruction of the guest's, and what it needs around it.
func (w *fast) instr(in *instr) {
	e := &w.e
	switch in.op {
	case opBlock, opIf:
		w.open(in.op, in.a)
		w.frames = append(w.frames, outFrame{op: in.op, label: w.depth, sig: in.a})
	case opLoop:
		w.loop(in)
	case opElse:
		e.op(opElse)
	case opEnd:
		w.end()
	case opBr, opBrIf:
		w.branch(in)
	case opBrTable:
		w.brTable(in)
	case opReturn:
		w.ret()
	case opUnreachable:
		if w.p.tank {
			w.note()
			w.flush()
		}
		e.op(opUnreachable)
	case opCall:
		w.call(in.a)
	case opCallIndirect:
		w.callIndirect(in)
	case opLocalGet, opLocalSet, opLocalTee:
		e.op1(in.op, w.local(in.a))
	case opRefFunc:
		e.op1(opGlobalGet, w.o.refGlobal(w.o.inTable(in.a)))
	default:
		if in.op.bulk() != bulkNone {
			w.bulk(in)
		}
		e.bytes(w.c.m.b[in.off:in.end])
	}
}

// loop looks at the tank at its head, before the charge, unless each way around
// looks anyway. The body stands in the arm where all is well; the other arm
// fetches more and begins the loop again.
func (w *fast) loop(in *instr) {
	w.open(opLoop, in.a)
	look := w.looks.need[w.loops]
	w.loops++
	w.frames = append(w.frames, outFrame{opLoop, w.depth, in.a, look})
	if look {
		w.wellIf(w.tank(), in.a)
		w.since = 0
	}
}

func (w *fast) end() {
	fr := w.frames[len(w.frames)-1]
	w.frames = w.frames[:len(w.frames)-1]
	switch {
	case len(w.frames) == 0:
		w.epilogue()
	case fr.look:
		w.e.op(opElse)
		w.fetch()
		w.e.op1(opBr, w.depth-fr.label)
		w.close()
		w.close()
	default:
		w.close()
	}
}

// label is the new depth of a guest's label.
func (w *fast) label(l uint32) uint32 {
	return w.depth - w.frames[len(w.frames)-1-int(l)].label
}

// branch writes br and br_if. The engine compiles a conditional branch back to a
// loop's head much better when it is an if around a plain branch.
func (w *fast) branch(in *instr) {
	fr := w.frames[len(w.frames)-1-int(in.a)]
	if in.op == opBrIf && fr.op == opLoop && len(w.c.rawType(fr.sig).params) == 0 {
		w.open(opIf, rawEmpty)
		w.e.op1(opBr, w.label(in.a))
		w.close()
		return
	}
	w.e.op1(in.op, w.label(in.a))
}

func (w *fast) brTable(in *instr) {
	w.e.op(opBrTable)
	w.e.u32(in.b - 1)
	for _, l := range w.c.labels[in.a : in.a+in.b] {
		w.e.u32(w.label(l))
	}
}

func (w *fast) ret() {
	if w.p.tank {
		w.flush()
		w.e.op1(opLocalGet, w.tank())
	}
	w.e.op(opReturn)
}

// note writes the tank where the host reads it.
func (w *fast) note() {
	w.e.op1(opLocalGet, w.tank())
	w.e.op1(opGlobalSet, w.o.fuel())
}

func (w *fast) call(f uint32) {
	e, q := &w.e, &w.ps[f]
	switch {
	case int(f) < w.o.m.importedFuncs:
		w.callHost(f)
		return
	case q.static:
		e.op1(opCall, w.o.fn(f))
		return
	}
	w.beforeExit(q.exits)
	e.op1(opLocalGet, w.tank())
	if q.stack {
		e.op1(opLocalGet, w.stackLocal())
	}
	e.op1(opCall, w.o.fn(f))
	e.op1(opLocalSet, w.tank())
	if !q.check {
		w.since += q.total
	}
}

// beforeExit brings the count of vector instructions up to date for a host that
// may end the run.
func (w *fast) beforeExit(exits bool) {
	if exits && w.vecs >= 0 {
		w.flush()
		w.e.i64Const(0)
		w.e.op1(opLocalSet, uint32(w.vecs))
	}
}

// callHost lets nothing happen outside that the tank doesn't cover, and shows
// the host the true count.
func (w *fast) callHost(f uint32) {
	w.look()
	w.beforeExit(true)
	w.note()
	if w.p.stack {
		w.e.op1(opLocalGet, w.stackLocal())
		w.e.op1(opGlobalSet, w.o.stack())
	}
	w.e.op1(opCall, f)
	w.e.op1(opGlobalGet, w.o.fuel())
	w.e.op1(opLocalSet, w.tank())
}

// callIndirect: all functions in tables take the tank and the stack allowance.
func (w *fast) callIndirect(in *instr) {
	e, index := &w.e, w.temp(I32, 1)
	w.beforeExit(w.exitsByType(in.a))
	e.op1(opLocalSet, index)
	e.op1(opLocalGet, w.tank())
	e.op1(opLocalGet, w.stackLocal())
	e.op1(opLocalGet, index)
	e.op1(opCallIndirect, w.o.typeIndex(inTable.signature(&w.c.m.types[in.a])))
	e.u32(in.b)
	e.op1(opLocalSet, w.tank())
	w.since = checkEvery // what was called may have taken as much
}

// inTable is the plan that functions in tables have in common.
var inTable = plan{tank: true, stack: true}

// bulk charges what the length on top of the stack adds.
func (w *fast) bulk(in *instr) {
	e, n, kind := &w.e, w.temp(I32, 1), in.op.bulk()
	grows := kind == bulkGrow || kind == bulkTGrow
	e.op1(opLocalSet, n)
	if grows {
		w.beforeExit(true)
		w.note()
		w.o.growHook(e, in, n)
		w.depth++
	}
	e.op1(opLocalGet, w.tank())
	e.bulkUnits(kind, n)
	e.op(opI64Sub)
	e.op1(opLocalSet, w.tank())
	w.look()
	if grows {
		w.close()
	}
	e.op1(opLocalGet, n)
}

// growHook asks the host, if the module's own maximum admits n more; it leaves
// an if open for what an admitted growth costs.
func (o *output) growHook(e *enc, in *instr, n uint32) {
	if in.op == opMemoryGrow {
		e.i32Const(int32(o.m.mems[0].max))
		e.op(opMemorySize)
		e.raw(0)
	} else {
		e.i32Const(int32(o.m.tables[in.a].max))
		e.op1(opTableSize, in.a)
	}
	e.op(opI32Sub)
	e.op1(opLocalGet, n)
	e.op(opI32GeU)
	e.block(opIf, rawEmpty)
	if in.op == opTableGrow {
		e.i32Const(int32(in.a))
	}
	e.op1(opLocalGet, n)
	if in.op == opMemoryGrow {
		e.op1(opCall, o.hook(hookGrow))
		return
	}
	e.op1(opCall, o.hook(hookTableGrow))
}
