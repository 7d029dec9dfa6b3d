package rewrite

import "testing"

// gen makes a valid module out of any bytes: each byte decides something, and
// when they run out everything ends as soon as it can.
type gen struct {
	src    []byte
	e      enc
	types  []FuncType
	locals []ValType
	result []ValType
	labels [][]ValType // types that branches carry, innermost last
	depth  int
	size   int
	byOut  map[ValType][]opcode // instructions with a fixed signature, by what they make
}

const (
	genFuncs   = 5 // the last two are in the table
	genGlobals = 5 // one of each number type, and a vector
)

var genTypes = [...]ValType{I32, I64, F32, F64, V128}

func (g *gen) pick(n int) int {
	if len(g.src) == 0 {
		return 0
	}
	c := g.src[0]
	g.src = g.src[1:]
	return int(c) % n
}

func (g *gen) typ() ValType { return genTypes[g.pick(len(genTypes))] }

func (g *gen) some(most int) (ts []ValType) {
	for range g.pick(most + 1) {
		ts = append(ts, g.typ())
	}
	return ts
}

// generate is the module that the bytes stand for.
func generate(src []byte) []byte {
	g := &gen{src: src, byOut: map[ValType][]opcode{}}
	for op := opcode(0); op < simdBase+0x100; op++ {
		if op >= miscBase+opcode(len(miscOps)) && op < simdBase {
			continue
		}
		if in := op.info(); in != nil && !in.special && in.imm == immNone {
			g.byOut[in.out] = append(g.byOut[in.out], op)
		}
	}
	for range genFuncs {
		g.types = append(g.types, FuncType{g.some(4), g.some(2)})
	}
	return g.module()
}

func (g *gen) module() []byte {
	var m enc
	m.bytes([]byte(header))
	var types, funcs, globals, exports, code enc
	types.u32(genFuncs)
	funcs.u32(genFuncs)
	exports.u32(genFuncs)
	code.u32(genFuncs)
	for k, t := range g.types {
		types.raw(0x60)
		types.types(t.Params)
		types.types(t.Results)
		funcs.u32(uint32(k))
		exports.name(string(rune('a' + k)))
		exports.raw(byte(FuncKind), byte(k))
		b := g.function(k)
		code.u32(uint32(len(b)))
		code.bytes(b)
	}
	globals.u32(genGlobals)
	for _, t := range genTypes {
		globals.raw(byte(t), 1)
		g.e = enc{}
		g.constant(t)
		globals.bytes(g.e.b)
		globals.op(opEnd)
	}
	m.section(secType, types.b)
	m.section(secFunction, funcs.b)
	m.section(secTable, []byte("\x01\x70\x01\x04\x08"))
	m.section(secMemory, []byte("\x01\x01\x01\x03"))
	m.section(secGlobal, globals.b)
	m.section(secExport, exports.b)
	m.section(secElement, []byte{1, 0, 0x41, 1, 0x0b, 2, genFuncs - 2, genFuncs - 1})
	m.section(secCode, code.b)
	return m.b
}

func (g *gen) function(k int) []byte {
	t := &g.types[k]
	own := g.some(6)
	g.locals, g.result, g.labels = append(append([]ValType{}, t.Params...), own...), t.Results, [][]ValType{t.Results}
	g.e, g.depth, g.size = enc{}, 0, 0
	g.statements(1 + g.pick(6))
	g.values(t.Results)
	g.e.op(opEnd)
	var b enc
	b.localGroups(own)
	b.bytes(g.e.b)
	return b.b
}

func (g *gen) values(ts []ValType) {
	for _, t := range ts {
		g.value(t)
	}
}

func (g *gen) statements(n int) {
	for range n {
		g.depth++
		g.statement()
		g.depth--
	}
}

// deep says when to stop.
func (g *gen) deep() bool {
	g.size++
	return g.depth > 7 || g.size > 400 || len(g.src) == 0
}

func (g *gen) constant(t ValType) {
	switch t {
	case I32:
		g.e.i32Const(int32(g.pick(256))<<(8*g.pick(4)) - 100)
	case I64:
		g.e.i64Const(int64(g.pick(256))<<(8*g.pick(8)) - 100)
	case F32:
		g.e.op(opF32Const)
		g.e.raw(byte(g.pick(256)), 0, []byte{0x80, 0xc0, 0, 0x20}[g.pick(4)], []byte{0x3f, 0x7f, 0xff, 0xc2}[g.pick(4)])
	case F64:
		g.e.op(opF64Const)
		g.e.raw(byte(g.pick(256)), 0, 0, 0, 0, 0, []byte{0xf0, 0xf8, 0xe1, 0}[g.pick(4)], []byte{0x3f, 0x7f, 0xff, 0xc0}[g.pick(4)])
	case V128:
		g.e.op(opV128Const)
		for range 4 {
			g.e.raw(byte(g.pick(256)), 0, 0xc0, 0x7f)
		}
	}
}

func (g *gen) value(t ValType) {
	g.depth++
	defer func() { g.depth-- }()
	if g.deep() {
		if g.pick(2) == 1 {
			g.constant(t)
			return
		}
		g.get(t)
		return
	}
	switch g.pick(14) {
	case 0:
		g.constant(t)
	case 1, 2, 3:
		g.get(t)
	case 4:
		g.e.op1(opGlobalGet, g.global(t))
	case 5:
		g.value(t)
		g.value(t)
		g.value(I32)
		g.e.op(opSelectT)
		g.e.raw(1, byte(t))
	case 6:
		g.ifElse([]ValType{t})
	case 7:
		g.block(opBlock, []ValType{t})
	case 8:
		g.load(t)
	case 9:
		g.tee(t)
	case 10:
		g.callFor(t)
	default:
		g.operation(t)
	}
}

func (g *gen) get(t ValType) {
	if l, ok := g.local(t); ok {
		g.e.op1(opLocalGet, l)
		return
	}
	g.constant(t)
}

func (g *gen) local(t ValType) (uint32, bool) {
	from := g.pick(len(g.locals) + 1)
	for k := range g.locals {
		if l := (from + k) % len(g.locals); g.locals[l] == t {
			return uint32(l), true
		}
	}
	return 0, false
}

func (g *gen) tee(t ValType) {
	g.value(t)
	if l, ok := g.local(t); ok {
		g.e.op1(opLocalTee, l)
	}
}

func (g *gen) global(t ValType) uint32 {
	for k, x := range genTypes {
		if x == t {
			return uint32(k)
		}
	}
	return 0
}

func (g *gen) operation(t ValType) {
	ops := g.byOut[t]
	op := ops[(g.pick(256)<<8+g.pick(256))%len(ops)]
	for _, in := range []byte(op.info().in) {
		g.value(ValType(in))
	}
	g.e.op(op)
}

var genLoads = map[ValType]opcode{I32: 0x28, I64: 0x29, F32: 0x2a, F64: 0x2b, V128: simdBase}
var genStores = map[ValType]opcode{I32: 0x36, I64: 0x37, F32: 0x38, F64: 0x39, V128: simdBase + 11}

func (g *gen) load(t ValType) {
	g.address()
	g.e.op(genLoads[t])
	g.e.raw(0, byte(g.pick(64)))
}

func (g *gen) address() {
	if g.pick(4) > 0 {
		g.e.i32Const(int32(g.pick(256)) * 8)
		return
	}
	g.value(I32)
}

// callFor calls a function for its last result, if there is one of the type.
func (g *gen) callFor(t ValType) {
	from := g.pick(genFuncs)
	for k := range genFuncs {
		f := (from + k) % genFuncs
		rs := g.types[f].Results
		if len(rs) == 0 || rs[len(rs)-1] != t {
			continue
		}
		g.call(f)
		if len(rs) > 1 { // drop what lies below
			if l, ok := g.local(t); ok {
				g.e.op1(opLocalSet, l)
				g.e.op(opDrop)
				g.e.op1(opLocalGet, l)
				return
			}
			g.e.op(opDrop)
			g.e.op(opDrop)
			g.constant(t)
		}
		return
	}
	g.constant(t)
}

func (g *gen) call(f int) {
	g.values(g.types[f].Params)
	if f >= genFuncs-2 && g.pick(2) == 1 {
		g.e.i32Const(int32(f - genFuncs + 3))
		g.e.op1(opCallIndirect, uint32(f))
		g.e.u32(0)
		return
	}
	g.e.op1(opCall, uint32(f))
}

func (g *gen) block(op opcode, result []ValType) {
	raw := uint32(rawEmpty)
	if len(result) == 1 {
		raw = uint32(result[0])
	}
	g.e.block(op, raw)
	carry := result
	if op == opLoop {
		carry = nil
	}
	g.labels = append(g.labels, carry)
	g.statements(g.pick(4))
	g.values(result)
	g.labels = g.labels[:len(g.labels)-1]
	g.e.op(opEnd)
}

func (g *gen) ifElse(result []ValType) {
	g.value(I32)
	raw := uint32(rawEmpty)
	if len(result) == 1 {
		raw = uint32(result[0])
	}
	g.e.block(opIf, raw)
	g.labels = append(g.labels, result)
	g.statements(g.pick(3))
	g.values(result)
	if len(result) > 0 || g.pick(2) == 1 {
		g.e.op(opElse)
		g.statements(g.pick(3))
		g.values(result)
	}
	g.labels = g.labels[:len(g.labels)-1]
	g.e.op(opEnd)
}

func (g *gen) statement() {
	if g.deep() {
		return
	}
	switch t := g.typ(); g.pick(16) {
	case 0, 1, 2:
		if l, ok := g.local(t); ok {
			g.value(t)
			g.e.op1(opLocalSet, l)
		}
	case 3:
		g.value(t)
		g.e.op1(opGlobalSet, g.global(t))
	case 4, 5:
		g.address()
		g.value(t)
		g.e.op(genStores[t])
		g.e.raw(0, byte(g.pick(64)))
	case 6:
		g.ifElse(nil)
	case 7:
		g.block(opBlock, nil)
	case 8, 9:
		g.block(opLoop, nil)
	case 10:
		g.branchIf()
	case 11:
		g.leave()
	case 12:
		f := g.pick(genFuncs)
		g.call(f)
		for range g.types[f].Results {
			g.e.op(opDrop)
		}
	case 13:
		g.bulk()
	default:
		g.value(t)
		g.e.op(opDrop)
	}
}

// branchIf takes a conditional branch to any label.
func (g *gen) branchIf() {
	l := g.pick(len(g.labels))
	ts := g.labels[len(g.labels)-1-l]
	g.values(ts)
	g.value(I32)
	g.e.op1(opBrIf, uint32(l))
	for range ts {
		g.e.op(opDrop)
	}
}

// leave ends a stretch for good, inside of an if so that something follows.
func (g *gen) leave() {
	g.value(I32)
	g.e.block(opIf, rawEmpty)
	g.labels = append(g.labels, nil)
	switch g.pick(4) {
	case 0:
		g.values(g.result)
		g.e.op(opReturn)
	case 1:
		g.e.op(opUnreachable)
	case 2:
		l := g.pick(len(g.labels))
		g.values(g.labels[len(g.labels)-1-l])
		g.e.op1(opBr, uint32(l))
	case 3:
		g.table()
	}
	g.labels = g.labels[:len(g.labels)-1]
	g.e.op(opEnd)
}

// table is a br_table over labels that carry nothing.
func (g *gen) table() {
	var ls []uint32
	for k, ts := range g.labels {
		if len(ts) == 0 {
			ls = append(ls, uint32(len(g.labels)-1-k))
		}
	}
	g.value(I32)
	g.e.op(opBrTable)
	n := g.pick(4)
	g.e.u32(uint32(n))
	for range n + 1 {
		g.e.u32(ls[g.pick(len(ls))])
	}
}

func (g *gen) bulk() {
	switch g.pick(4) {
	case 0:
		g.value(I32)
		g.e.op(opMemoryGrow)
		g.e.raw(0)
		g.e.op(opDrop)
	case 1:
		g.address()
		g.value(I32)
		g.value(I32)
		g.e.op(opMemoryFill)
		g.e.raw(0)
	case 2:
		g.address()
		g.address()
		g.address()
		g.e.op(opMemoryCopy)
		g.e.raw(0, 0)
	case 3:
		g.e.op(opRefNull)
		g.e.raw(byte(FuncRef))
		g.value(I32)
		g.e.op1(opTableGrow, 0)
		g.e.op(opDrop)
	}
}

// FuzzGenerated runs modules that are valid by construction in all ways.
func FuzzGenerated(f *testing.F) {
	for k := range 40 {
		src := make([]byte, 200+50*k)
		x := uint32(k + 1)
		for i := range src {
			x = x*1664525 + 1013904223
			src[i] = byte(x >> 24)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		b := generate(src)
		if _, err := Scan(b, DefaultLimits()); err != nil {
			t.Fatalf("BUG in the generator: %v", err)
		}
		out := meter(t, b, false)
		if _, err := decodeModule(out, wideLimits(), true, nil); err != nil {
			t.Fatalf("the metered module is invalid: %v", err)
		}
		runTrial(t, b)
	})
}
