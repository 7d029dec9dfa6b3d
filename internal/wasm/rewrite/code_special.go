package rewrite

import "slices"

// special checks the instructions whose types depend on their immediates. It
// returns what goes into instr.a and instr.b.
func (c *code) special(a, b uint32) (uint32, uint32) {
	switch c.op {
	case opUnreachable:
		c.setUnreachable()
	case opBlock, opLoop, opIf:
		return c.block(), 0
	case opElse:
		c.elseArm()
	case opEnd:
		c.endBlock()
	case opBr:
		c.popAll(c.label(a).labelTypes())
		c.setUnreachable()
	case opBrIf:
		c.pop(I32)
		ts := c.label(a).labelTypes()
		c.popAll(ts)
		c.pushAll(ts)
	case opBrTable:
		return c.brTable()
	case opReturn:
		c.popAll(c.typ.Results)
		c.setUnreachable()
	case opCall:
		c.call(c.m.funcType(a))
	case opCallIndirect:
		c.callIndirect(a, b)
	case opDrop:
		a = uint32(c.pop(anyType))
	case opSelect, opSelectT:
		a = uint32(c.selectOne())
	default:
		return c.variable(a, b)
	}
	return a, b
}

// variable checks locals, globals, tables and references.
func (c *code) variable(a, b uint32) (uint32, uint32) {
	switch c.op {
	case opLocalGet:
		c.push(c.locals[a])
	case opLocalSet:
		c.pop(c.locals[a])
	case opLocalTee:
		c.pop(c.locals[a])
		c.push(c.locals[a])
	case opGlobalGet:
		c.push(c.m.globals[a].typ)
	case opGlobalSet:
		if !c.m.globals[a].mutable {
			fail(c.at, "global.set: global %d is immutable", a)
		}
		c.pop(c.m.globals[a].typ)
	case opTableGet:
		c.pop(I32)
		c.push(c.m.tables[a].elem)
	case opTableSet:
		c.pop(c.m.tables[a].elem)
		c.pop(I32)
	case opTableGrow:
		c.pop(I32)
		c.pop(c.m.tables[a].elem)
		c.push(I32)
	case opTableFill:
		c.pop(I32)
		c.pop(c.m.tables[a].elem)
		c.pop(I32)
	case opRefNull:
		c.push(ValType(a))
	case opRefIsNull:
		if t := c.pop(anyType); t != anyType && !t.isRef() {
			fail(c.at, "ref.is_null: got a %s, want a reference", t)
		}
		c.push(I32)
	case opRefFunc:
		if !c.m.declared[a] {
			fail(c.at, "ref.func: function %d is declared in no element, export or global", a)
		}
		c.push(FuncRef)
	}
	return a, b
}

func (c *code) block() uint32 {
	sig := c.blockType()
	if c.op == opIf {
		c.pop(I32)
	}
	c.popAll(sig.params)
	c.work += len(sig.params)
	c.enter(c.op, sig)
	return sig.raw
}

func (c *code) elseArm() {
	fr := c.frames[len(c.frames)-1]
	if fr.op != opIf {
		fail(c.at, "else without an if")
	}
	c.leave()
	c.frames = append(c.frames, frame{op: opElse, sig: fr.sig, height: fr.height, dead: fr.dead})
	c.pushAll(fr.sig.params)
}

func (c *code) endBlock() {
	fr := c.leave()
	if fr.op == opIf && !slices.Equal(fr.sig.params, fr.sig.results) {
		fail(c.at, "if without an else: got %s -> %s, want the same types on both sides", typeList(fr.sig.params), typeList(fr.sig.results))
	}
	c.work += len(fr.sig.results)
	if len(c.frames) > 0 {
		c.pushAll(fr.sig.results)
	}
}

// brTable keeps its labels beside the instructions.
func (c *code) brTable() (first, n uint32) {
	at := c.r.pos
	k := c.r.count("label count", 1, c.m.lim.BrTable)
	first = uint32(len(c.labels))
	for range k + 1 {
		c.labels = append(c.labels, c.r.u32("label"))
	}
	c.pop(I32)
	last := c.label(c.labels[len(c.labels)-1]).labelTypes()
	for _, l := range c.labels[first:] {
		ts := c.label(l).labelTypes()
		if len(ts) != len(last) {
			fail(at, "br_table: label %d takes %d values, want %d as the default does", l, len(ts), len(last))
		}
		c.brTableArm(ts)
	}
	c.popAll(last)
	c.setUnreachable()
	return first, uint32(k + 1)
}

// brTableArm checks the values for one label and leaves the stack as it was.
func (c *code) brTableArm(ts []ValType) {
	if len(ts) == 0 {
		return
	}
	mark := len(c.stack)
	c.popAll(ts)
	c.stack = c.stack[:mark]
}

func (c *code) callIndirect(typ, table uint32) {
	if c.m.tables[table].elem != FuncRef {
		fail(c.at, "call_indirect: table %d holds %s, want funcref", table, c.m.tables[table].elem)
	}
	c.pop(I32)
	c.call(&c.m.types[typ])
}

func (c *code) call(t *FuncType) {
	c.work += len(t.Params) + len(t.Results)
	c.popAll(t.Params)
	c.pushAll(t.Results)
}

// selectOne returns the type that is selected.
func (c *code) selectOne() ValType {
	if c.op == opSelectT {
		at := c.r.pos
		if n := c.r.u32("select"); n != 1 {
			fail(at, "select: got %d types, want 1", n)
		}
		t := c.r.valType("select")
		c.m.sawType(t)
		c.pop(I32)
		c.pop(t)
		c.pop(t)
		c.push(t)
		return t
	}
	c.pop(I32)
	t := c.pop(anyType)
	u := c.pop(anyType)
	if t == anyType {
		t = u
	}
	if t.isRef() || u.isRef() {
		fail(c.at, "select: got a %s, want a number or vector, or a select with its type", t)
	}
	if u != t && u != anyType {
		fail(c.at, "select: got a %s and a %s, want the same", u, t)
	}
	c.push(t)
	return t
}
