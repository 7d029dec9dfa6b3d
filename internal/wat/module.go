package wat

import "math"

// space is one of the index spaces of a module.
type space struct {
	what  string
	names map[string]uint32
	count uint32
}

func newSpace(what string) space { return space{what: what, names: map[string]uint32{}} }

// add gives the next index, to a name if there is one.
func (s *space) add(at *node, id string) uint32 {
	i := s.count
	if id != "" {
		if _, taken := s.names[id]; taken {
			at.fail("%s %s is there twice", s.what, id)
		}
		s.names[id] = i
	}
	s.count++
	return i
}

// index reads a name or a number. Whether a number is too large is for whoever
// reads the module to say.
func (s *space) index(n *node) uint32 {
	if n.isID() {
		i, ok := s.names[n.text]
		if !ok {
			n.fail("there is no %s %s", s.what, n.text)
		}
		return i
	}
	v, ok := parseUint(n.text, 32)
	if n.kind != tokAtom || !ok {
		n.fail("got %s, want a %s: its $name or its number", n.what(), s.what)
	}
	return uint32(v)
}

// isIndex reports whether a node can be one.
func isIndex(n *node) bool {
	if n == nil || n.kind != tokAtom {
		return false
	}
	_, number := parseUint(n.text, 32)
	return n.isID() || number
}

// module is a module being made.
type module struct {
	fields []node

	types, funcs, tables, memories, globals, elems, datas space

	signatures []signature
	known      map[string]uint32 // signatures by their bytes
	imports    []encoded
	exports    []encoded
	exported   map[string]bool
	funcTypes  []uint32 // of the functions that are defined here
	tableDefs  []encoded
	memoryDefs []encoded
	globalDefs []encoded
	elemDefs   []encoded
	dataDefs   []encoded
	codes      []encoded
	start      *uint32
	counts     bool // data segments are named by code, so their number comes first
	funcNames  []named

	defined bool // something that isn't an import was there
	later   []func()
}

type encoded = []byte

type named struct {
	index uint32
	name  string
}

func newModule(top []node) *module {
	m := &module{
		fields: top, types: newSpace("type"), funcs: newSpace("function"), tables: newSpace("table"), memories: newSpace("memory"),
		globals: newSpace("global"), elems: newSpace("element segment"), datas: newSpace("data segment"),
		known: map[string]uint32{}, exported: map[string]bool{},
	}
	if len(top) > 0 && top[0].is("module") {
		if len(top) > 1 {
			top[1].fail("got %s after the module, want one module and nothing after it", top[1].what())
		}
		c := top[0].cursor(1)
		c.id()
		if n := c.peek(); n != nil && n.kind == tokAtom {
			n.fail("got (module %s …), want a module in text", n.text)
		}
		m.fields = c.rest
	}
	for i := range m.fields {
		if n := &m.fields[i]; n.head() == "" {
			n.fail("got %s, want a field of a module, like (func …)", n.what())
		}
	}
	return m
}

// declare gives every definition its index and notes what is to be made of it,
// once all names are known.
func (m *module) declare() {
	for i := range m.fields {
		if n := &m.fields[i]; n.is("type") {
			m.declareType(n)
		}
	}
	for i := range m.fields {
		n := &m.fields[i]
		switch n.head() {
		case "type":
		case "import":
			m.declareImport(n)
		case "func":
			m.declareFunc(n)
		case "table":
			m.declareTable(n)
		case "memory":
			m.declareMemory(n)
		case "global":
			m.declareGlobal(n)
		case "export":
			m.later = append(m.later, func() { m.defineExport(n) })
		case "start":
			m.later = append(m.later, func() { m.defineStart(n) })
		case "elem":
			m.declareElem(n)
		case "data":
			m.declareData(n)
		default:
			n.fail("got the field %s, want type, import, func, table, memory, global, export, start, elem or data", n.what())
		}
	}
}

func (m *module) define() {
	for _, f := range m.later {
		f()
	}
}

// Kinds of imports and exports.
const (
	kindFunc = iota
	kindTable
	kindMemory
	kindGlobal
)

func (m *module) declareImport(n *node) {
	c := n.cursor(1)
	from, name := c.name(), c.name()
	d := c.need("what is imported, like (func …)")
	c.done()
	k := d.cursorOf("func", "table", "memory", "global")
	id := k.id()
	m.importAs(d, k, d.head(), from, name, id)
}

// cursorOf goes through a list that has to have one of these heads.
func (n *node) cursorOf(heads ...string) *cursor {
	for _, h := range heads {
		if n.is(h) {
			return n.cursor(1)
		}
	}
	n.fail("got %s, want one of %q", n.what(), heads)
	return nil
}

// importAs declares an import of a kind, whose description k holds.
func (m *module) importAs(at *node, k *cursor, kind, from, name, id string) {
	if m.defined {
		at.fail("an import comes after a definition, want all imports first")
	}
	e := &enc{}
	e.name(from)
	e.name(name)
	i := len(m.imports)
	m.imports = append(m.imports, nil)
	switch kind {
	case "func":
		m.nameFunc(m.funcs.add(at, id), id)
		e.raw(kindFunc)
		m.later = append(m.later, func() {
			t, _ := m.typeUse(k)
			k.done()
			e.u32(t)
			m.imports[i] = e.b
		})
		return
	case "table":
		m.tables.add(at, id)
		e.raw(kindTable)
		m.tableType(k, e)
	case "memory":
		m.memories.add(at, id)
		e.raw(kindMemory)
		limits(k, e)
	case "global":
		m.globals.add(at, id)
		e.raw(kindGlobal)
		globalType(k, e)
	}
	k.done()
	m.imports[i] = e.b
}

func (m *module) nameFunc(i uint32, id string) {
	if id != "" {
		m.funcNames = append(m.funcNames, named{i, id[1:]})
	}
}

// inline handles (export "name")… and (import "m" "n") in a definition. It reports
// whether it was an import, which is then declared.
func (m *module) inline(n *node, c *cursor, kind int, s *space, id string) bool {
	i := s.count // what it will have
	for x := c.sub("export"); x != nil; x = c.sub("export") {
		k := x.cursor(1)
		name := k.name()
		k.done()
		m.later = append(m.later, func() { m.export(x, name, kind, i) })
	}
	x := c.sub("import")
	if x == nil {
		m.defined = true
		return false
	}
	k := x.cursor(1)
	from, name := k.name(), k.name()
	k.done()
	m.importAs(n, c, n.head(), from, name, id)
	return true
}

func (m *module) export(at *node, name string, kind int, index uint32) {
	if m.exported[name] {
		at.fail("the export %q is there twice", name)
	}
	m.exported[name] = true
	e := &enc{}
	e.name(name)
	e.raw(byte(kind))
	e.u32(index)
	m.exports = append(m.exports, e.b)
}

func (m *module) defineExport(n *node) {
	c := n.cursor(1)
	name := c.name()
	d := c.need("what is exported, like (func $f)")
	c.done()
	k := d.cursorOf("func", "table", "memory", "global")
	kind, s := kindFunc, &m.funcs
	switch d.head() {
	case "table":
		kind, s = kindTable, &m.tables
	case "memory":
		kind, s = kindMemory, &m.memories
	case "global":
		kind, s = kindGlobal, &m.globals
	}
	i := s.index(k.need("which"))
	k.done()
	m.export(n, name, kind, i)
}

func (m *module) defineStart(n *node) {
	if m.start != nil {
		n.fail("a second start, want at most one")
	}
	c := n.cursor(1)
	i := m.funcs.index(c.need("a function"))
	c.done()
	m.start = &i
}

func (m *module) declareTable(n *node) {
	c := n.cursor(1)
	id := c.id()
	if m.inline(n, c, kindTable, &m.tables, id) {
		return
	}
	i := m.tables.add(n, id)
	e := &enc{}
	if at := c.peek(); at != nil && at.kind == tokAtom && !isIndex(at) { // a type and its elements
		t := refType(c)
		list := c.sub("elem")
		if list == nil {
			n.fail("a table with a type and no limits, want (elem …)")
		}
		c.done()
		at := len(m.elemDefs)
		m.elems.add(n, "")
		m.elemDefs = append(m.elemDefs, nil)
		items := list.cursor(1)
		count := uint64(len(items.rest))
		e.raw(t)
		putLimits(e, count, &count)
		m.tableDefs = append(m.tableDefs, e.b)
		m.later = append(m.later, func() { m.elemDefs[at] = m.activeElem(i, zeroOffset, t, items) })
		return
	}
	m.tableType(c, e)
	c.done()
	m.tableDefs = append(m.tableDefs, e.b)
}

func (m *module) tableType(c *cursor, e *enc) {
	l := &enc{}
	limits(c, l)
	e.raw(refType(c))
	e.bytes(l.b)
}

// pageSize is that of a memory.
const pageSize = 65536

func (m *module) declareMemory(n *node) {
	c := n.cursor(1)
	id := c.id()
	if m.inline(n, c, kindMemory, &m.memories, id) {
		return
	}
	i := m.memories.add(n, id)
	e := &enc{}
	if d := c.sub("data"); d != nil {
		c.done()
		b := literal(d.cursor(1))
		pages := uint64((len(b) + pageSize - 1) / pageSize)
		putLimits(e, pages, &pages)
		m.datas.add(n, "")
		m.dataDefs = append(m.dataDefs, activeData(i, zeroOffset, b))
	} else {
		limits(c, e)
		c.done()
	}
	m.memoryDefs = append(m.memoryDefs, e.b)
}

func limits(c *cursor, e *enc) {
	low := limit(c.need("how many at first"))
	var high *uint64
	if isIndex(c.peek()) && !c.peek().isID() {
		v := limit(c.take())
		high = &v
	}
	putLimits(e, low, high)
}

func limit(n *node) uint64 {
	v, ok := parseUint(n.text, 32)
	if n.kind != tokAtom || !ok {
		n.fail("got %s, want a number up to %d", n.what(), uint32(math.MaxUint32))
	}
	return v
}

func putLimits(e *enc, low uint64, high *uint64) {
	if high == nil {
		e.raw(0)
		e.u32(uint32(low))
		return
	}
	e.raw(1)
	e.u32(uint32(low))
	e.u32(uint32(*high))
}

func (m *module) declareGlobal(n *node) {
	c := n.cursor(1)
	id := c.id()
	if m.inline(n, c, kindGlobal, &m.globals, id) {
		return
	}
	m.globals.add(n, id)
	e := &enc{}
	globalType(c, e)
	i := len(m.globalDefs)
	m.globalDefs = append(m.globalDefs, nil)
	m.later = append(m.later, func() {
		e.bytes(m.constant(c))
		m.globalDefs[i] = e.b
	})
}

func globalType(c *cursor, e *enc) {
	if x := c.sub("mut"); x != nil {
		k := x.cursor(1)
		e.raw(valType(k.need("a value type")), 1)
		k.done()
		return
	}
	e.raw(valType(c.need("a value type")), 0)
}
