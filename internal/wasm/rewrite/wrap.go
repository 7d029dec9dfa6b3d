package rewrite

// What the outside calls by a guest's name, and what a guest calls in an
// import's place, translates between the two ways to call.

// wrappers hands out indices for the functions that Meter adds and writes them.
type wrappers struct {
	w       *fast
	next    uint32
	exports map[uint32]uint32
	thunks  map[uint32]uint32
	order   []func()
}

func (x *wrappers) add(write func()) uint32 {
	x.order = append(x.order, write)
	x.next++
	return x.next - 1
}

// plan gives an index to each function that will be added.
func (x *wrappers) plan() {
	o, m := x.w.o, x.w.o.m
	x.next = uint32(len(m.funcs)) + hooks
	x.exports, x.thunks = map[uint32]uint32{}, map[uint32]uint32{}
	x.w.refill = x.add(x.writeRefill)
	for f := range m.importedFuncs {
		if x.w.g.taken[f] {
			x.thunks[uint32(f)] = x.add(func() { x.writeThunk(uint32(f)) })
		}
	}
	for _, e := range m.exports {
		if e.Kind == FuncKind {
			x.planExport(e.index)
		}
	}
	if m.start >= 0 {
		x.planExport(uint32(m.start))
	}
	o.exports = func(f uint32) uint32 {
		if i, ok := x.exports[f]; ok {
			return i
		}
		return o.fn(f)
	}
	o.inTable = func(f uint32) uint32 {
		if i, ok := x.thunks[f]; ok {
			return i
		}
		return o.fn(f)
	}
}

func (x *wrappers) planExport(f uint32) {
	if _, ok := x.exports[f]; !ok && int(f) >= x.w.o.m.importedFuncs {
		x.exports[f] = x.add(func() { x.writeExport(f) })
	}
}

// writeRefill: (tank) -> (tank), asks the host and notes what it gave.
func (x *wrappers) writeRefill() {
	o := x.w.o
	var e enc
	e.u32(0)
	e.op1(opLocalGet, 0)
	e.op1(opCall, o.hook(hookTick))
	e.op1(opLocalSet, 0)
	e.op1(opLocalGet, 0)
	e.op1(opGlobalSet, o.fuel())
	e.op1(opLocalGet, 0)
	e.op(opEnd)
	o.addFunc(o.typeIndex(hookTypes[hookTick]), e.b)
}

// lookGlobal fetches more if the tank in the global is below zero.
func (x *wrappers) lookGlobal(e *enc) {
	fuel := x.w.o.fuel()
	e.op1(opGlobalGet, fuel)
	e.i64Const(0)
	e.op(opI64LtS)
	e.block(opIf, rawEmpty)
	e.op1(opGlobalGet, fuel)
	e.op1(opCall, x.w.refill)
	e.op(opDrop)
	e.op(opEnd)
}

// writeExport calls a guest's function as the outside does. A run that ends well
// has a tank of zero or more: it never took what it wasn't given.
func (x *wrappers) writeExport(f uint32) {
	o, p := x.w.o, &x.w.ps[f]
	t := o.m.funcType(f)
	var e enc
	stack := uint32(len(t.Params)) // local: the allowance as it was
	e.localGroups([]ValType{I64})
	if p.static {
		x.payGlobal(&e, p)
	}
	if p.stack {
		e.op1(opGlobalGet, o.stack())
		e.op1(opLocalSet, stack)
	}
	for k := range t.Params {
		e.op1(opLocalGet, uint32(k))
	}
	if p.tank {
		e.op1(opGlobalGet, o.fuel())
	}
	if p.stack {
		e.op1(opLocalGet, stack)
	}
	e.op1(opCall, o.fn(f))
	if p.tank {
		e.op1(opGlobalSet, o.fuel())
		x.lookGlobal(&e)
	}
	if p.stack {
		e.op1(opLocalGet, stack)
		e.op1(opGlobalSet, o.stack())
	}
	e.op(opEnd)
	o.addFunc(o.m.funcs[f], e.b)
}

// payGlobal pays for a function whose cost is known.
func (x *wrappers) payGlobal(e *enc, p *plan) {
	o := x.w.o
	e.op1(opGlobalGet, o.fuel())
	e.i64Const(p.units)
	e.op(opI64Sub)
	e.op1(opGlobalSet, o.fuel())
	x.lookGlobal(e)
	if p.vectors > 0 {
		e.op1(opGlobalGet, o.simdCount())
		e.i64Const(p.vectors)
		e.op(opI64Add)
		e.op1(opGlobalSet, o.simdCount())
	}
}

// writeThunk calls an imported function as a table's entries are called.
func (x *wrappers) writeThunk(f uint32) {
	o := x.w.o
	t := o.m.funcType(f)
	tank := uint32(len(t.Params))
	var e enc
	e.u32(0)
	e.op1(opLocalGet, tank)
	e.op1(opGlobalSet, o.fuel())
	x.lookGlobal(&e)
	e.op1(opLocalGet, tank+1)
	e.op1(opGlobalSet, o.stack())
	for k := range t.Params {
		e.op1(opLocalGet, uint32(k))
	}
	e.op1(opCall, f)
	e.op1(opGlobalGet, o.fuel())
	e.op(opEnd)
	o.addFunc(o.typeIndex(inTable.signature(t)), e.b)
}
