package rewrite

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const canonical64, canonical32 = 0x7ff8000000000000, 0x7fc00000

// TestNaN: wherever the bits of a NaN that arithmetic made can be seen, they are
// the canonical ones; wherever a NaN is only moved, they stay.
func TestNaN(t *testing.T) {
	inf, nan := math.Float64bits(math.Inf(1)), uint64(0xfff123456789abcd)
	want := map[string]uint64{
		"store32": canonical32, "demoted": canonical32,
		"copysign": math.Float64bits(1), "negated": canonical64 | 1<<63,
	}
	for _, name := range []string{"nan", "lanes"} {
		for _, way := range bothWays {
			in := launch(t, name, way)
			for _, e := range must(Scan(guest(t, name), DefaultLimits())).Exports {
				if e.Kind != FuncKind {
					continue
				}
				if strings.HasPrefix(e.Name, "moved") {
					if r := in.call(e.Name, nan); r.values[0] != nan&^keepsSign(e.Name) {
						t.Errorf("%s: %s.%s: got %x, want %x", wayNames[way], name, e.Name, r.values, nan)
					}
					continue
				}
				w, ok := want[e.Name]
				if !ok {
					w = canonical64
				}
				for _, args := range [][2]uint64{{nan, inf}, {inf, nan}, {nan, nan ^ 1<<63}} {
					if e.Name == "store32" {
						args = [2]uint64{0xffc12345, 0x7f800001}
					}
					r := in.call(e.Name, args[0], args[1])
					if trim(e.Func, r.values); r.err != nil || r.values[0] != w {
						t.Errorf("%s: %s.%s(%x): got %x %v, want %x", wayNames[way], name, e.Name, args, r.values, r.err, w)
					}
				}
			}
		}
	}
}

// keepsSign is the bit that a move through abs clears.
func keepsSign(name string) uint64 {
	if name == "moved-lane" {
		return 1 << 63
	}
	return 0
}

// TestSumsPayOnce: each of the functions of nan.wat that make a NaN cleans it at
// one place, also the one that sums in a loop, which is behind the loop.
func TestSumsPayOnce(t *testing.T) {
	b := meter(t, guest(t, "nan"), false)
	if n := strings.Count(string(b), "\x00\x00\x00\x00\x00\x00\xf8\x7f"); n != 15 {
		t.Errorf("NaNs of 64 bits are cleaned at %d places, want 15", n)
	}
}

// TestSlowFlow: a loop that passes a NaN through forty locals takes the walk more
// rounds than it is given; each operation then cleans up at once, to the same end.
func TestSlowFlow(t *testing.T) {
	const locals = 40
	var body enc
	body.localGroups(slices.Repeat([]ValType{F64}, locals), []ValType{I32})
	body.block(opLoop, rawEmpty)
	for k := range uint32(locals - 1) {
		body.op1(opLocalGet, k+1)
		body.op1(opLocalSet, k)
	}
	body.op1(opLocalGet, locals-1)
	body.op(opF64Const)
	body.raw(0, 0, 0, 0, 0, 0, 0xf0, 0x7f) // infinity
	body.op(0xa1)                          // f64.sub: minus infinity, and then no number
	body.op1(opLocalSet, locals-1)
	body.op(opF64Const)
	body.raw(0, 0, 0, 0, 0, 0, 0xf0, 0x7f)
	body.op1(opLocalGet, locals-1)
	body.op(0xa0) // f64.add
	body.op1(opLocalSet, locals-1)
	body.op1(opLocalGet, locals)
	body.i32Const(1)
	body.op(opI32Add)
	body.op1(opLocalTee, locals)
	body.i32Const(100)
	body.op(0x48) // i32.lt_s
	body.op1(opBrIf, 0)
	body.op(opEnd)
	body.op1(opLocalGet, 0)
	body.op(0xbd) // i64.reinterpret_f64
	body.op(opEnd)
	var sec enc
	sec.u32(1)
	sec.u32(uint32(len(body.b)))
	sec.bytes(body.b)
	b := []byte(header + section(secType, "\x01\x60\x00\x01\x7e") + section(secFunction, "\x01\x00") + section(secExport, "\x01\x01f\x00\x00") + section(secCode, string(sec.b)))

	m := must(decodeModule(b, DefaultLimits(), false, func(_ *module, _ uint32, c *code) {
		if new(nanFlow).start(c) {
			t.Error("the walk ended; this test wants one that doesn't")
		}
	}))
	if len(m.bodies) != 1 {
		t.Fatal("no body")
	}
	runTrial(t, b)
	in := must(newMachine(t).start(meter(t, b, false), ""))
	if r := in.call("f"); r.values[0] != canonical64 {
		t.Errorf("got %x, want %x", r.values[0], uint64(canonical64))
	}
}
