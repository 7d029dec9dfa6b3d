package wat

import "strings"

// zeroOffset is the expression (i32.const 0).
var zeroOffset = encoded{0x41, 0, 0x0b}

const opEnd = 0x0b

func (m *module) declareElem(n *node) {
	c := n.cursor(1)
	m.elems.add(n, c.id())
	i := len(m.elemDefs)
	m.elemDefs = append(m.elemDefs, nil)
	m.defined = true
	m.later = append(m.later, func() { m.elemDefs[i] = m.elem(c) })
}

// elem reads what follows (elem $name.
func (m *module) elem(c *cursor) encoded {
	if c.word("declare") {
		return m.looseElem(3, c)
	}
	table := uint32(0)
	use := c.sub("table")
	if use != nil {
		k := use.cursor(1)
		table = m.tables.index(k.need("a table"))
		k.done()
	} else if isIndex(c.peek()) && len(c.rest) > 1 && c.rest[1].kind == tokOpen {
		table = m.tables.index(c.take()) // as it was written before there were several
	}
	offset, active := m.offset(c)
	if !active {
		if use != nil {
			use.fail("a table without an offset, want (offset …)")
		}
		return m.looseElem(1, c)
	}
	t := byte(typeFuncref)
	if at := c.peek(); at != nil && at.kind == tokAtom && has2(valTypes, at.text) {
		t = refType(c)
		return m.activeElem(table, offset, t, c)
	}
	c.word("func")
	return m.activeElem(table, offset, t, c)
}

func has2(m map[string]byte, k string) bool {
	_, ok := m[k]
	return ok
}

// offset reads (offset …) or one instruction in parentheses.
func (m *module) offset(c *cursor) (encoded, bool) {
	if x := c.sub("offset"); x != nil {
		return m.constant(x.cursor(1)), true
	}
	if n := c.peek(); n != nil && n.kind == tokOpen && !n.is("item") {
		c.take()
		return m.constant(&cursor{of: n, rest: []node{*n}}), true
	}
	return nil, false
}

// looseElem is a segment that is passive (flags 1) or only declared (3).
func (m *module) looseElem(flags uint32, c *cursor) encoded {
	e := &enc{}
	if c.word("func") {
		e.u32(flags)
		e.raw(0) // function indices
		m.functions(c, e)
		return e.b
	}
	t := refType(c)
	e.u32(flags | 4)
	e.raw(t)
	m.items(c, t, e)
	return e.b
}

// activeElem is a segment that is copied into a table at the start. Its elements
// are functions by index, or expressions.
func (m *module) activeElem(table uint32, offset encoded, t byte, c *cursor) encoded {
	e := &enc{}
	expressions := t != typeFuncref || len(c.rest) > 0 && c.rest[0].kind == tokOpen
	flags := uint32(0)
	if expressions {
		flags = 4
	}
	// The short forms are for the first table and funcref alone.
	if long := table != 0 || t != typeFuncref; long {
		e.u32(flags | 2)
		e.u32(table)
		e.bytes(offset)
		if expressions {
			e.raw(t)
		} else {
			e.raw(0)
		}
	} else {
		e.u32(flags)
		e.bytes(offset)
	}
	if expressions {
		m.items(c, t, e)
	} else {
		m.functions(c, e)
	}
	return e.b
}

func (m *module) functions(c *cursor, e *enc) {
	e.u32(uint32(len(c.rest)))
	for n := c.take(); n != nil; n = c.take() {
		e.u32(m.funcs.index(n))
	}
}

// items reads (item …) or one instruction in parentheses, each; in a table's own
// elements also plain functions.
func (m *module) items(c *cursor, t byte, e *enc) {
	e.u32(uint32(len(c.rest)))
	for n := c.take(); n != nil; n = c.take() {
		switch {
		case n.is("item"):
			e.bytes(m.constant(n.cursor(1)))
		case n.kind == tokOpen:
			e.bytes(m.constant(&cursor{of: n, rest: []node{*n}}))
		default:
			n.fail("got %s, want (item …) or an instruction in parentheses", n.what())
		}
	}
}

func (m *module) declareData(n *node) {
	c := n.cursor(1)
	m.datas.add(n, c.id())
	i := len(m.dataDefs)
	m.dataDefs = append(m.dataDefs, nil)
	m.later = append(m.later, func() { m.dataDefs[i] = m.data(c) })
}

func (m *module) data(c *cursor) encoded {
	memory := uint32(0)
	use := c.sub("memory")
	if use != nil {
		k := use.cursor(1)
		memory = m.memories.index(k.need("a memory"))
		k.done()
	} else if isIndex(c.peek()) {
		memory = m.memories.index(c.take())
	}
	offset, active := m.offset(c)
	if active {
		return activeData(memory, offset, literal(c))
	}
	if use != nil {
		use.fail("a memory without an offset, want (offset …)")
	}
	e := &enc{}
	e.u32(1)
	e.sized(literal(c))
	return e.b
}

func activeData(memory uint32, offset, b encoded) encoded {
	e := &enc{}
	if memory == 0 {
		e.u32(0)
	} else {
		e.u32(2)
		e.u32(memory)
	}
	e.bytes(offset)
	e.sized(b)
	return e.b
}

// literal joins the strings that are left.
func literal(c *cursor) []byte {
	var b strings.Builder
	for n := c.take(); n != nil; n = c.take() {
		if n.kind != tokString {
			n.fail("got %s, want strings", n.what())
		}
		b.WriteString(n.text)
	}
	return []byte(b.String())
}
