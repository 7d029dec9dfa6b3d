package wat

import "github.com/joulebox/joulebox/internal/wasm/rewrite"

func (m *module) declareFunc(n *node) {
	c := n.cursor(1)
	id := c.id()
	if m.inline(n, c, kindFunc, &m.funcs, id) {
		return
	}
	m.nameFunc(m.funcs.add(n, id), id)
	i := len(m.funcTypes)
	m.funcTypes, m.codes = append(m.funcTypes, 0), append(m.codes, nil)
	m.later = append(m.later, func() {
		t, s := m.typeUse(c)
		m.funcTypes[i] = t
		m.codes[i] = m.body(c, s)
	})
}

// function is a function's code being made.
type function struct {
	*module
	e      *enc
	locals space
	labels []string // innermost last; "" for those without a name
}

func (m *module) body(c *cursor, s signature) encoded {
	f := &function{module: m, e: &enc{}, locals: newSpace("local")}
	for _, id := range s.names {
		f.locals.add(c.of, id)
	}
	f.declareLocals(c)
	f.labels = []string{""}
	f.instructions(c)
	c.done()
	f.e.raw(opEnd)
	sized := &enc{}
	sized.sized(f.e.b)
	return sized.b
}

// declareLocals reads (local …)*, and writes them in runs of one type.
func (f *function) declareLocals(c *cursor) {
	var types []byte
	for x := c.sub("local"); x != nil; x = c.sub("local") {
		k := x.cursor(1)
		if id := k.id(); id != "" {
			f.locals.add(x, id)
			types = append(types, valType(k.need("a value type")))
			k.done()
			continue
		}
		for n := k.take(); n != nil; n = k.take() {
			f.locals.add(n, "")
			types = append(types, valType(n))
		}
	}
	runs, count := &enc{}, uint32(0)
	for i := 0; i < len(types); count++ {
		n := 1
		for i+n < len(types) && types[i+n] == types[i] {
			n++
		}
		runs.u32(uint32(n))
		runs.raw(types[i])
		i += n
	}
	f.e.u32(count)
	f.e.bytes(runs.b)
}

// constant is an expression of its own, as initial values and offsets are.
func (m *module) constant(c *cursor) encoded {
	f := &function{module: m, e: &enc{}, locals: newSpace("local"), labels: []string{""}}
	f.instructions(c)
	c.done()
	f.e.raw(opEnd)
	return f.e.b
}

// instructions reads until the end, or until an else or end that is for whoever
// opened a block.
func (f *function) instructions(c *cursor) {
	for n := c.peek(); n != nil; n = c.peek() {
		switch {
		case n.kind == tokOpen:
			f.folded(c.take())
		case n.kind == tokString:
			n.fail("got a string, want an instruction")
		case n.text == "end" || n.text == "else":
			return
		default:
			f.plain(c)
		}
	}
}

// Opcodes of what has a form of its own.
const (
	opBlock   = 0x02
	opLoop    = 0x03
	opIf      = 0x04
	opElse    = 0x05
	opSelectT = 0x1c
)

var blocks = map[string]byte{"block": opBlock, "loop": opLoop, "if": opIf}

// plain reads one instruction with what follows it, a block up to its end.
func (f *function) plain(c *cursor) {
	n := c.take()
	if op, ok := blocks[n.text]; ok {
		f.block(n, op, c)
		return
	}
	f.operation(n, c)
}

// block reads block, loop or if, until its end.
func (f *function) block(n *node, op byte, c *cursor) {
	id := c.id()
	f.open(op, id, c)
	f.instructions(c)
	if op == opIf && c.word("else") {
		f.sameLabel(c, id)
		f.e.raw(opElse)
		f.instructions(c)
	}
	if !c.word("end") {
		n.fail("this %s has no end", n.text)
	}
	f.sameLabel(c, id)
	f.close()
}

// sameLabel reads the name that else and end may repeat.
func (f *function) sameLabel(c *cursor, id string) {
	at := c.peek()
	if again := c.id(); again != "" && again != id {
		at.fail("got the label %s, want %q again or nothing", again, id)
	}
}

func (f *function) open(op byte, id string, c *cursor) {
	f.e.raw(op)
	f.blockType(c)
	f.labels = append(f.labels, id)
}

func (f *function) close() {
	f.labels = f.labels[:len(f.labels)-1]
	f.e.raw(opEnd)
}

// blockType is nothing, one value type, or a function type.
func (f *function) blockType(c *cursor) {
	if n := c.peek(); n == nil || !n.is("type") && !n.is("param") && !n.is("result") {
		f.e.raw(0x40)
		return
	}
	if !c.peek().is("type") {
		ahead := *c
		if s := readSignature(&ahead, false); len(s.params) == 0 && len(s.results) <= 1 {
			*c = ahead
			if len(s.results) == 0 {
				f.e.raw(0x40)
			} else {
				f.e.raw(s.results[0])
			}
			return
		}
	}
	t, _ := f.typeUseOf(c, false)
	f.e.signed(int64(t))
}

// folded reads (op …): what it takes stands within, and comes first.
func (f *function) folded(n *node) {
	head := n.head()
	if head == "" {
		n.fail("got %s, want an instruction", n.what())
	}
	c := n.cursor(1)
	switch head {
	case "block", "loop":
		f.open(blocks[head], c.id(), c)
		f.instructions(c)
		c.done()
		f.close()
	case "if":
		f.foldedIf(n, c)
	case "then", "else", "end":
		n.fail("got (%s …) outside of (if …)", head)
	default:
		own := f.e
		f.e = &enc{}
		f.operation(&n.list[0], c)
		operation := f.e.b
		f.e = own
		for x := c.take(); x != nil; x = c.take() {
			if x.kind != tokOpen {
				x.fail("got %s, want what %s takes in parentheses", x.what(), head)
			}
			f.folded(x)
		}
		f.e.bytes(operation)
	}
}

func (f *function) foldedIf(n *node, c *cursor) {
	id := c.id()
	typed := &enc{}
	own := f.e
	f.e = typed
	f.e.raw(opIf)
	f.blockType(c)
	f.e = own
	for x := c.peek(); x != nil && x.kind == tokOpen && !x.is("then"); x = c.peek() {
		f.folded(c.take())
	}
	then := c.sub("then")
	if then == nil {
		n.fail("this (if …) has no (then …)")
	}
	f.e.bytes(typed.b)
	f.labels = append(f.labels, id)
	f.arm(then)
	if other := c.sub("else"); other != nil {
		f.e.raw(opElse)
		f.arm(other)
	}
	c.done()
	f.close()
}

func (f *function) arm(n *node) {
	c := n.cursor(1)
	f.instructions(c)
	c.done()
}

// operation reads an instruction that is no block, with its immediates.
func (f *function) operation(n *node, c *cursor) {
	op, ok := rewrite.OpByName(n.text)
	if !ok || n.text == "else" || n.text == "end" {
		n.fail("there is no instruction %s here", n.text)
	}
	f.immediates(n, op, c)
}
