package wat

// Value types.
var valTypes = map[string]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c, "v128": 0x7b, "funcref": typeFuncref, "externref": typeExternref}

const (
	typeFuncref   = 0x70
	typeExternref = 0x6f
	typeFunc      = 0x60
)

func valType(n *node) byte {
	t, ok := valTypes[n.text]
	if n.kind != tokAtom || !ok {
		n.fail("got %s, want a value type: i32, i64, f32, f64, v128, funcref or externref", n.what())
	}
	return t
}

func refType(c *cursor) byte {
	n := c.need("funcref or externref")
	if t, ok := valTypes[n.text]; ok && n.kind == tokAtom && (t == typeFuncref || t == typeExternref) {
		return t
	}
	n.fail("got %s, want funcref or externref", n.what())
	return 0
}

// signature is a function type.
type signature struct {
	params, results []byte
	names           []string // of the parameters, "" for those without
}

func (s signature) bytes() []byte {
	e := &enc{}
	e.raw(typeFunc)
	e.u32(uint32(len(s.params)))
	e.bytes(s.params)
	e.u32(uint32(len(s.results)))
	e.bytes(s.results)
	return e.b
}

func (m *module) declareType(n *node) {
	c := n.cursor(1)
	id := c.id()
	d := c.need("(func …)")
	c.done()
	k := d.cursorOf("func")
	s := readSignature(k, true)
	k.done()
	i := m.types.add(n, id)
	m.signatures = append(m.signatures, s)
	if key := string(s.bytes()); !has(m.known, key) {
		m.known[key] = i
	}
}

func has(m map[string]uint32, k string) bool {
	_, ok := m[k]
	return ok
}

// readSignature reads (param …)* (result …)*. Names are of use in a definition.
func readSignature(c *cursor, names bool) (s signature) {
	for x := c.sub("param"); x != nil; x = c.sub("param") {
		k := x.cursor(1)
		id := ""
		if at := k.peek(); at != nil && at.isID() {
			if !names {
				at.fail("got the name %s, want types alone here", at.text)
			}
			id = k.id()
		}
		if id != "" {
			s.params, s.names = append(s.params, valType(k.need("a value type"))), append(s.names, id)
			k.done()
			continue
		}
		for n := k.take(); n != nil; n = k.take() {
			s.params, s.names = append(s.params, valType(n)), append(s.names, "")
		}
	}
	for x := c.sub("result"); x != nil; x = c.sub("result") {
		k := x.cursor(1)
		for n := k.take(); n != nil; n = k.take() {
			s.results = append(s.results, valType(n))
		}
	}
	return s
}

// typeUse reads (type t)? (param …)* (result …)* and gives the type's index. What
// was written out has its names.
func (m *module) typeUse(c *cursor) (uint32, signature) {
	return m.typeUseOf(c, true)
}

func (m *module) typeUseOf(c *cursor, names bool) (uint32, signature) {
	use := c.sub("type")
	at := c.peek()
	s := readSignature(c, names)
	if use == nil {
		return m.implicit(s), s
	}
	k := use.cursor(1)
	i := m.types.index(k.need("a type"))
	k.done()
	if int(i) >= len(m.signatures) {
		use.fail("there is no type %d", i)
	}
	declared := m.signatures[i]
	if len(s.params)+len(s.results) == 0 {
		declared.names = make([]string, len(declared.params))
		return i, declared
	}
	if string(declared.bytes()) != string(s.bytes()) {
		at.fail("the parameters and results that are written out aren't those of the type")
	}
	return i, s
}

// implicit is the index of a signature, which is added if it isn't there yet.
func (m *module) implicit(s signature) uint32 {
	key := string(s.bytes())
	i, ok := m.known[key]
	if !ok {
		i = m.types.count
		m.types.count++
		m.signatures, m.known[key] = append(m.signatures, s), i
	}
	return i
}
