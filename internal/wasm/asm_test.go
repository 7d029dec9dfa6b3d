package wasm

import "encoding/binary"

// asm puts a module together by hand, for guests that no compiler would write.
type asm struct {
	types, imports, funcs, tables, mems, globals, exports, elems, codes, datas [][]byte
	start                                                                      []byte
	imported                                                                   int
}

const (
	tI32  = 0x7f
	tI64  = 0x7e
	tV128 = 0x7b
	tFunc = 0x70

	kFunc, kTable, kMem, kGlobal = 0, 1, 2, 3
)

func uleb(x uint64) []byte { return binary.AppendUvarint(nil, x) }

func sleb(x int64) (out []byte) {
	for {
		b := byte(x & 0x7f)
		x >>= 7
		if (x == 0 && b&0x40 == 0) || (x == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func cat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func vec(items [][]byte) []byte { return append(uleb(uint64(len(items))), cat(items...)...) }

func str(s string) []byte { return append(uleb(uint64(len(s))), s...) }

func (a *asm) typ(params, results []byte) int {
	a.types = append(a.types, cat([]byte{0x60}, str(string(params)), str(string(results))))
	return len(a.types) - 1
}

// imp imports a function; all imports come before the first fn.
func (a *asm) imp(module, name string, params, results []byte) int {
	t := a.typ(params, results)
	a.imports = append(a.imports, cat(str(module), str(name), []byte{kFunc}, uleb(uint64(t))))
	a.imported++
	return a.imported - 1
}

// fn adds a function and exports it, unless the name is empty. Locals are i32.
func (a *asm) fn(name string, params, results []byte, locals int, body ...[]byte) int {
	t := a.typ(params, results)
	a.funcs = append(a.funcs, uleb(uint64(t)))
	code := cat(uleb(1), uleb(uint64(locals)), []byte{tI32}, cat(body...), []byte{0x0b})
	a.codes = append(a.codes, append(uleb(uint64(len(code))), code...))
	f := a.imported + len(a.funcs) - 1
	if name != "" {
		a.export(name, kFunc, f)
	}
	return f
}

func (a *asm) export(name string, kind byte, index int) {
	a.exports = append(a.exports, cat(str(name), []byte{kind}, uleb(uint64(index))))
}

func (a *asm) memory(limits ...uint64) { a.mems = append(a.mems, limitsOf(limits)) }

func (a *asm) table(limits ...uint64) {
	a.tables = append(a.tables, append([]byte{tFunc}, limitsOf(limits)...))
}

func limitsOf(l []uint64) []byte {
	if len(l) == 1 {
		return cat([]byte{0}, uleb(l[0]))
	}
	return cat([]byte{1}, uleb(l[0]), uleb(l[1]))
}

func (a *asm) data(offset int32, bytes string) {
	a.datas = append(a.datas, cat([]byte{0}, i32Const(offset), []byte{0x0b}, str(bytes)))
}

func (a *asm) elem(offset int32, funcs ...int) {
	e := cat([]byte{0}, i32Const(offset), []byte{0x0b}, uleb(uint64(len(funcs))))
	for _, f := range funcs {
		e = append(e, uleb(uint64(f))...)
	}
	a.elems = append(a.elems, e)
}

func (a *asm) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, body []byte) { out = append(append(append(out, id), uleb(uint64(len(body)))...), body...) }
	for _, s := range []struct {
		id    byte
		items [][]byte
	}{{1, a.types}, {2, a.imports}, {3, a.funcs}, {4, a.tables}, {5, a.mems}, {6, a.globals}, {7, a.exports}, {8, nil}, {9, a.elems}, {10, a.codes}, {11, a.datas}} {
		if s.id == 8 && a.start != nil {
			section(8, a.start)
		} else if len(s.items) > 0 {
			section(s.id, vec(s.items))
		}
	}
	return out
}

// Instructions.
func op(b ...byte) []byte          { return b }
func i32Const(n int32) []byte      { return append([]byte{0x41}, sleb(int64(n))...) }
func i64Const(n int64) []byte      { return append([]byte{0x42}, sleb(n)...) }
func call(f int) []byte            { return append([]byte{0x10}, uleb(uint64(f))...) }
func localGet(n int) []byte        { return append([]byte{0x20}, uleb(uint64(n))...) }
func localSet(n int) []byte        { return append([]byte{0x21}, uleb(uint64(n))...) }
func loop(body ...[]byte) []byte   { return cat(op(0x03, 0x40), cat(body...), op(0x0b)) }
func ifThen(body ...[]byte) []byte { return cat(op(0x04, 0x40), cat(body...), op(0x0b)) }

var (
	drop        = op(0x1a)
	unreachable = op(0x00)
	i32Add      = op(0x6a)
	i32Sub      = op(0x6b)
	memGrow     = op(0x40, 0x00)
	brLoop      = op(0x0c, 0x00)
	brIfLoop    = op(0x0d, 0x00)
	toI32       = []byte{tI32}
)

// countdown runs body n times, with local l as the counter.
func countdown(l int, n int32, body ...[]byte) []byte {
	return cat(i32Const(n), localSet(l), loop(cat(body...), localGet(l), i32Const(1), i32Sub, op(0x22), uleb(uint64(l)), brIfLoop))
}

// returns is the smallest unit: run gives n.
func returns(n int32) []byte {
	a := &asm{}
	a.fn("run", nil, toI32, 0, i32Const(n))
	return a.bytes()
}

// spins never ends.
func spins() []byte {
	a := &asm{}
	a.fn("run", nil, toI32, 0, loop(brLoop), i32Const(0))
	return a.bytes()
}
