package rewrite

import "strconv"

// bytes assembles the module.
func (o *output) bytes() []byte {
	m := o.m
	e := &enc{b: make([]byte, 0, len(m.b)+len(o.code.b)+1024)}
	e.bytes(m.b[:8])
	// The import section refers to types that it adds, so it is made first.
	imports := o.importSection()
	e.section(secType, o.typeSection())
	e.section(secImport, imports)
	e.section(secFunction, o.functionSection())
	o.copySection(e, secTable)
	o.copySection(e, secMemory)
	e.section(secGlobal, o.globalSection())
	e.section(secExport, o.exportSection())
	e.section(secElement, o.elementSection())
	o.copySection(e, secDataCount)
	e.section(secCode, o.codeSection())
	o.copySection(e, secData)
	o.nameSection(e)
	return e.b
}

func (o *output) copySection(e *enc, id byte) {
	if s := o.m.sections[id]; s.end > 0 {
		e.section(id, o.m.b[s.start:s.end])
	}
}

func (o *output) typeSection() []byte {
	var e enc
	e.u32(uint32(len(o.types)))
	for _, t := range o.types {
		e.raw(0x60)
		e.types(t.Params)
		e.types(t.Results)
	}
	return e.b
}

func (e *enc) types(ts []ValType) {
	e.u32(uint32(len(ts)))
	for _, t := range ts {
		e.raw(byte(t))
	}
}

func (o *output) importSection() []byte {
	var e enc
	e.u32(uint32(len(o.m.imports) + hooks))
	for _, i := range o.m.imports {
		e.bytes(o.m.b[i.offset.start:i.offset.end])
	}
	for h, name := range hookNames {
		e.name(MeterModule)
		e.name(name)
		e.raw(byte(FuncKind))
		e.u32(o.typeIndex(hookTypes[h]))
	}
	return e.b
}

func (o *output) functionSection() []byte {
	var e enc
	e.u32(uint32(len(o.funcs)))
	for _, t := range o.funcs {
		e.u32(t)
	}
	return e.b
}

func (o *output) codeSection() []byte {
	var e enc
	e.u32(uint32(len(o.funcs)))
	e.bytes(o.code.b)
	return e.b
}

func (o *output) globalSection() []byte {
	var e enc
	own := o.m.globals[o.m.importedGlobals:]
	e.u32(uint32(len(own) + o.extraGlobals() + len(o.refs)))
	for _, g := range own {
		e.raw(byte(g.typ), b2i(g.mutable))
		o.constExpr(&e, g.init)
	}
	for range o.extraGlobals() {
		e.raw(byte(I64), 1)
		e.i64Const(0)
		e.op(opEnd)
	}
	for _, f := range o.refs {
		e.raw(byte(FuncRef), 0)
		e.op1(opRefFunc, f)
		e.op(opEnd)
	}
	return e.b
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (o *output) constExpr(e *enc, x constExpr) {
	if x.op == opRefFunc {
		e.op1(opRefFunc, o.inTable(uint32(x.val)))
		e.op(opEnd)
		return
	}
	e.bytes(o.m.b[x.start:x.end])
}

func (o *output) exportSection() []byte {
	var e enc
	n := 0
	add := func(name string, k Kind, index uint32) {
		e.name(name)
		e.raw(byte(k))
		e.u32(index)
		n++
	}
	for _, x := range o.m.exports {
		i := x.index
		if x.Kind == FuncKind {
			i = o.exports(i)
		}
		add(x.Name, x.Kind, i)
	}
	for _, i := range o.m.hiddenGlobals() {
		add(HiddenGlobal+strconv.Itoa(i), GlobalKind, uint32(i))
	}
	add(FuelGlobal, GlobalKind, o.fuel())
	add(StackGlobal, GlobalKind, o.stack())
	if o.simd {
		add(SIMDGlobal, GlobalKind, o.simdCount())
	}
	if o.m.start >= 0 {
		add(StartFunction, FuncKind, o.exports(uint32(o.m.start)))
	}
	var out enc
	out.u32(uint32(n))
	out.bytes(e.b)
	return out.b
}
