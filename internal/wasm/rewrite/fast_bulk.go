package rewrite

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
