package rewrite

// immediate reads what follows the opcode and checks what can be checked
// without the stack. What it returns goes into instr.a and instr.b.
func (c *code) immediate(in *opInfo) (a, b uint32) {
	r := &c.r
	switch in.imm {
	case immNone, immBlock, immLabels, immSelect: // the special ones read these themselves
	case immLabel:
		a = r.u32("label")
	case immFunc:
		a = c.m.funcIndex(r)
	case immCallIndirect:
		a = c.m.typeIndex(r)
		b = c.table()
	case immLocal:
		if a = r.u32("local index"); int64(a) >= int64(len(c.locals)) {
			fail(c.at, "%s: local %d is unknown, the function has %d", c.op, a, len(c.locals))
		}
	case immGlobal:
		if a = r.u32("global index"); int64(a) >= int64(len(c.m.globals)) {
			fail(c.at, "%s: global %d is unknown, the module has %d", c.op, a, len(c.m.globals))
		}
	case immTable:
		a = c.table()
	case immTableTable:
		a, b = c.table(), c.table()
		c.sameElem(c.m.tables[a].elem, c.m.tables[b].elem)
	case immElem:
		a = c.elem()
	case immElemTable:
		a, b = c.elem(), c.table()
		c.sameElem(c.m.elems[a].typ, c.m.tables[b].elem)
	case immData:
		a = c.data()
	case immDataMem:
		a = c.data()
		c.memory()
	case immMemory:
		c.memory()
	case immMemMem:
		c.memory()
		c.memory()
	case immMem:
		c.memArg(in)
	case immMemLane:
		c.memArg(in)
		a = c.lane(in)
	case immLane:
		a = c.lane(in)
	case immShuffle:
		for range 16 {
			c.lane(in)
		}
	case immRefType:
		a = uint32(r.refType("ref.null"))
	default:
		c.constant(in.imm)
	}
	return a, b
}

func (c *code) constant(k immKind) {
	switch k {
	case immI32:
		c.r.signed(32, "i32.const")
	case immI64:
		c.r.signed(64, "i64.const")
	case immF32:
		c.r.skip(4, "f32.const")
	case immF64:
		c.r.skip(8, "f64.const")
	case immV128:
		c.r.skip(16, "v128.const")
	}
}

func (c *code) memArg(in *opInfo) {
	at := c.r.pos
	align := c.r.u32("alignment")
	if align >= 64 && align < 128 {
		fail(at, "%s: a memory index belongs to multi-memory, which isn't supported", c.op)
	}
	if align > uint32(in.align) {
		fail(at, "%s: alignment 2^%d is larger than the access, 2^%d", c.op, align, in.align)
	}
	c.r.u32("offset")
	c.needMemory()
}

func (c *code) needMemory() {
	if len(c.m.mems) == 0 {
		fail(c.at, "%s: the module has no memory", c.op)
	}
}

func (c *code) memory() {
	at := c.r.pos
	if c.r.byte("memory index") != 0 {
		fail(at, "%s: a second memory belongs to multi-memory, which isn't supported", c.op)
	}
	c.needMemory()
}

func (c *code) table() uint32 {
	at := c.r.pos
	t := c.r.u32("table index")
	c.m.tableIndex(at, t)
	return t
}

func (c *code) elem() uint32 {
	at := c.r.pos
	e := c.r.u32("element segment index")
	if int64(e) >= int64(len(c.m.elems)) {
		fail(at, "%s: element segment %d is unknown, the module has %d", c.op, e, len(c.m.elems))
	}
	return e
}

// data needs the data count section, as data segments come after the code.
func (c *code) data() uint32 {
	at := c.r.pos
	d := c.r.u32("data segment index")
	if c.m.dataCount < 0 {
		fail(at, "%s: the module has no data count section", c.op)
	}
	if int64(d) >= int64(c.m.dataCount) {
		fail(at, "%s: data segment %d is unknown, the module has %d", c.op, d, c.m.dataCount)
	}
	return d
}

func (c *code) lane(in *opInfo) uint32 {
	at := c.r.pos
	l := c.r.byte("lane")
	if l >= in.lanes {
		fail(at, "%s: lane %d is unknown, there are %d", c.op, l, in.lanes)
	}
	return uint32(l)
}

func (c *code) sameElem(a, b ValType) {
	if a != b {
		fail(c.at, "%s: got %s, want %s as the other holds", c.op, b, a)
	}
}

// blockType reads the type of a block.
func (c *code) blockType() blockType {
	at := c.r.pos
	v := c.r.signed(33, "block type")
	switch {
	case v >= 0:
		if v >= int64(len(c.m.types)) {
			fail(at, "block type: type %d is unknown, the module has %d", v, len(c.m.types))
		}
		t := &c.m.types[v]
		return blockType{t.Params, t.Results, rawType + uint32(v)}
	case v == -64:
		return blockType{raw: rawEmpty}
	}
	if v < -64 || c.r.pos != at+1 {
		fail(at, "block type: got %d, want a type index, a value type or none", v)
	}
	c.r.pos = at
	t := c.r.valType("block type")
	c.m.sawType(t)
	return blockType{results: oneType(t), raw: uint32(t)}
}

// oneType is the list of just t.
func oneType(t ValType) []ValType {
	for k := range valTypes {
		if valTypes[k] == t {
			return valTypes[k : k+1 : k+1]
		}
	}
	return nil
}

var valTypes = [...]ValType{I32, I64, F32, F64, V128, FuncRef, ExternRef}
