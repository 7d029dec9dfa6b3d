package rewrite

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
