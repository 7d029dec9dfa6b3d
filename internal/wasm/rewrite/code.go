package rewrite

// code validates one function body after another with the same two stacks, as
// the appendix of the specification does it, and keeps the instructions that
// can be reached for whoever wants to rewrite them.
type code struct {
	m         *module
	r         reader
	f         uint32
	typ       *FuncType
	locals    []ValType // parameters first
	op        opcode    // the instruction in hand
	at        int       // its offset
	codeStart int       // where the instructions begin

	stack  []ValType
	frames []frame

	ins       []instr  // what can be reached, in order
	labels    []uint32 // of the br_tables among ins
	maxHeight int      // of the operand stack
	work      int      // values that labels and calls carried: what a compiler has to copy
	allWork   int      // the same, over all bodies so far
	joins     int      // blocks that an optimising compiler will see
	allJoins  int      // the product of joins and locals, over all bodies so far
}

// frame is one open block.
type frame struct {
	op          opcode
	sig         blockType
	height      int
	unreachable bool // the rest of this block can't be reached
	dead        bool // nor could its beginning
}

// blockType is the type of a block, with the bits that spell it.
type blockType struct {
	params, results []ValType
	raw             uint32 // 0x40, a value type's byte, or rawType plus a type index
}

const (
	rawEmpty = 0x40
	rawType  = 0x100
)

// instr is one instruction that can be reached. Its bytes are b[off:end]; a and
// b are its immediates as far as a rewriter needs them.
type instr struct {
	op       opcode
	off, end uint32
	a, b     uint32
}

// labelTypes are what a branch to the frame carries.
func (fr *frame) labelTypes() []ValType {
	if fr.op == opLoop {
		return fr.sig.params
	}
	return fr.sig.results
}

// codeSection reads all bodies.
func (m *module) codeSection(s *reader, onBody func(uint32, *code)) {
	n := s.count("function body count", 3, m.lim.Functions)
	if want := len(m.funcs) - m.importedFuncs; n != want {
		fail(s.pos, "got %d function bodies, want %d as the function section says", n, want)
	}
	c := &code{m: m}
	m.bodies = make([]body, 0, n)
	for i := range n {
		at := s.pos
		w := s.window(s.u32("body size"), "function body")
		if w.left() > m.lim.BodyBytes {
			failLimit(at, "function body is %d bytes, want at most %d", w.left(), m.lim.BodyBytes)
		}
		f := uint32(m.importedFuncs + i)
		c.validate(f, w)
		m.bodies = append(m.bodies, body{span{w.pos, w.end}, c.codeStart})
		if onBody != nil {
			onBody(f, c)
		}
	}
}

// validate checks the body in the window w as function f.
func (c *code) validate(f uint32, w reader) {
	c.r, c.f, c.typ = w, f, c.m.funcType(f)
	c.stack, c.frames = c.stack[:0], c.frames[:0]
	c.ins, c.labels = c.ins[:0], c.labels[:0]
	c.maxHeight, c.work, c.joins = 0, 0, 0
	c.readLocals()
	c.codeStart = c.r.pos
	c.frames = append(c.frames, frame{sig: blockType{results: c.typ.Results}})
	for len(c.frames) > 0 {
		c.step()
	}
	if c.r.left() != 0 {
		fail(c.r.pos, "function %d: %d bytes are left after its end", f, c.r.left())
	}
	c.checkWork(w.pos)
}

func (c *code) readLocals() {
	r := &c.r
	c.locals = append(c.locals[:0], c.typ.Params...)
	if len(c.locals) > c.m.lim.Locals {
		failLimit(r.pos, "function %d: got %d parameters, want at most %d locals", c.f, len(c.locals), c.m.lim.Locals)
	}
	for _, t := range c.typ.Params {
		c.m.sawType(t)
	}
	n := r.count("local group count", 2, r.left())
	for range n {
		at := r.pos
		k := r.u32("local count")
		t := r.valType("local type")
		if uint64(len(c.locals))+uint64(k) > uint64(c.m.lim.Locals) {
			failLimit(at, "function %d: got %d locals and more, want at most %d with parameters", c.f, uint64(len(c.locals))+uint64(k), c.m.lim.Locals)
		}
		c.m.sawType(t)
		for range k {
			c.locals = append(c.locals, t)
		}
	}
}

// checkWork refuses bodies that are small and valid but take a compiler's time
// in the square of their size.
func (c *code) checkWork(at int) {
	lim := &c.m.lim
	if c.work > lim.LabelValues {
		failLimit(at, "function %d: branches and calls carry %d values, want at most %d", c.f, c.work, lim.LabelValues)
	}
	if c.allWork += c.work; c.allWork > lim.AllLabelValues {
		failLimit(at, "function %d: branches and calls so far carry %d values, want at most %d", c.f, c.allWork, lim.AllLabelValues)
	}
	if got := c.joins * len(c.locals); got > lim.LocalJoins {
		failLimit(at, "function %d: %d locals over %d joins of control flow, want a product of at most %d", c.f, len(c.locals), c.joins, lim.LocalJoins)
	}
	if c.allJoins += c.joins * len(c.locals); c.allJoins > lim.AllLocalJoins {
		failLimit(at, "function %d: locals times joins of control flow so far are %d, want at most %d", c.f, c.allJoins, lim.AllLocalJoins)
	}
}
