package wat_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
	"github.com/joulebox/joulebox/internal/wat"
)

// TestForms: one module, written in several ways.
func TestForms(t *testing.T) {
	for name, texts := range map[string][]string{
		"folded and flat": {
			`(module (func (export "run") (result i32) (i32.add (i32.const 1) (i32.mul (i32.const 2) (i32.const 3)))))`,
			`(module (func (export "run") (result i32) i32.const 1 i32.const 2 i32.const 3 i32.mul i32.add))`,
			`(func $f (result i32) i32.const 1 (i32.const 2) i32.const 0x3 i32.mul i32.add) (export "run" (func $f))`,
		},
		"if": {
			`(func (param $x i32) (result i32) (if (result i32) (local.get $x) (then (i32.const 1)) (else (i32.const 2))))`,
			`(func (param i32) (result i32) local.get 0 if (result i32) i32.const 1 else i32.const 2 end)`,
			`(func (param i32) (result i32) local.get 0 if $l (result i32) i32.const 1 else $l i32.const 2 end $l)`,
		},
		"labels": {
			`(func (block $a (loop $b (br_if $a (i32.const 0)) (br_table $a $b $a (i32.const 1)))))`,
			`(func block loop i32.const 0 br_if 1 i32.const 1 br_table 1 0 1 end end)`,
		},
		"imports": {
			`(import "a" "b" (func $f (param i32))) (import "a" "m" (memory 1 2))`,
			`(func $f (import "a" "b") (param i32)) (memory (import "a" "m") 1 2)`,
		},
		"types": {
			`(type $t (func (param i32) (result i32))) (func (type $t) local.get 0)`,
			`(type $t (func (param i32) (result i32))) (func (type 0) (param i32) (result i32) (local.get 0))`,
			`(func (param i32) (result i32) local.get 0)`,
		},
		"data": {
			`(memory 1) (data (i32.const 0) "ab\n\"" "\u{e9}")`,
			`(memory 1) (data 0 (offset i32.const 0) "\61\62\0a\22\c3\a9")`,
			"(memory 1) (;a (;nested;) comment;) (data (memory 0) (i32.const 0) \"ab\\n\\22é\") ;; and a line",
		},
		"elements": {
			`(table 2 2 funcref) (func $a) (func $b) (elem (i32.const 0) $a $b)`,
			`(func $a) (func $b) (table funcref (elem $a $b))`,
			`(func $a) (func $b) (table 2 2 funcref) (elem (table 0) (offset (i32.const 0)) func 0 1)`,
		},
		"an annotation": {`(func (@custom "x" (y)))`, `(func)`},
	} {
		var first []byte
		for i, text := range texts {
			got, err := wat.Assemble([]byte(text))
			if err != nil {
				t.Errorf("%s, %d: %v", name, i, err)
				continue
			}
			if _, err := rewrite.Scan(got, rewrite.DefaultLimits()); err != nil && !strings.Contains(name, "imports") {
				t.Errorf("%s, %d: not valid: %v", name, i, err)
			}
			got = withoutCustom(t, got)
			if i == 0 {
				first = got
			} else if !bytes.Equal(got, first) {
				t.Errorf("%s: form %d gives\n%x\nwant\n%x", name, i, got, first)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"(module":                                 "line 1, column 1: this parenthesis isn't closed",
		"(func))":                                 "line 1, column 7: this parenthesis closes none",
		"(func\n  i32.ad)":                        "line 2, column 3: there is no instruction i32.ad here",
		"(func (call $f))":                        "there is no function $f",
		"(func $f) (func $f)":                     "function $f is there twice",
		"(func i32.const 4294967296)":             "want an integer of 32 bits",
		"(func i32.const 1__0)":                   "want an integer",
		"(func f32.const 1e99)":                   "fits 32 bits",
		"(func f64.const nan:0x0)":                "fits 64 bits",
		"(func block)":                            "this block has no end",
		"(func (if (i32.const 1)))":               "has no (then …)",
		"(func br $x)":                            "there is no label $x here",
		"(func (local i33))":                      "want a value type",
		"(func i32.load align=3 drop)":            "power of two",
		"(memory 1) (data (i32.const 0) \"\\g\")": "unknown escape",
		"(memory 1) (data (i32.const 0) \"a":      "isn't closed on its line",
		"(export \"a\" (func 0)) (export \"a\" (func 0)) (func)": `the export "a" is there twice`,
		"(func) (import \"a\" \"b\" (func))":                     "want all imports first",
		"(module binary \"\")":                                   "want a module in text",
		"(module) (module)":                                      "want one module",
		"(tag)":                                                  "got the field (tag …)",
		"(type $t (func (param i32))) (func (type $t) (param i64))": "aren't those of the type",
		"(; (; ;)":                       "a comment isn't closed",
		strings.Repeat("(", 3000):        "more than 2000 deep",
		"\xff":                           "want text of a module",
		"(func i8x16.extract_lane_s 16)": "want a lane below 16",
	} {
		module, err := wat.Assemble([]byte(text))
		var at *wat.Error
		if !errors.As(err, &at) || module != nil || !strings.Contains(err.Error(), want) || at.Line < 1 || at.Column < 1 {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

// TestFloats: whatever number is written comes out as its nearest bits, written in
// decimal or in hex.
func TestFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		bits := r.Uint64()
		if v := math.Float64frombits(bits); !math.IsNaN(v) && !math.IsInf(v, 0) {
			for _, form := range []byte{'e', 'x'} {
				constant(t, "f64", strconv.FormatFloat(v, form, -1, 64), bits, 8)
			}
		}
		if v := math.Float32frombits(uint32(bits)); v == v && !math.IsInf(float64(v), 0) {
			for _, form := range []byte{'e', 'x'} {
				constant(t, "f32", strconv.FormatFloat(float64(v), form, -1, 32), bits&math.MaxUint32, 4)
			}
		}
	}
	for text, bits := range map[string]uint64{
		"inf": 0x7ff0000000000000, "-inf": 0xfff0000000000000, "nan": 0x7ff8000000000000, "-nan:0x1": 0xfff0000000000001,
		"0x1.8": 0x3ff8000000000000, "0x1_0": 0x4030000000000000, "1_0.5": 0x4025000000000000, "-0": 1 << 63,
	} {
		constant(t, "f64", text, bits, 8)
	}
}

// constant checks the constant at the end of a body.
func constant(t *testing.T, kind, text string, bits uint64, size int) {
	t.Helper()
	got, err := wat.Assemble(fmt.Appendf(nil, "(func %s.const %s drop)", kind, text))
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	var v uint64
	for i, b := range got[len(got)-2-size : len(got)-2] {
		v |= uint64(b) << (8 * i)
	}
	if v != bits {
		t.Errorf("%s %s: got %#x, want %#x", kind, text, v, bits)
	}
}

// FuzzAssemble: no text makes it crash, and what comes out is a module that can be
// read, valid or not.
func FuzzAssemble(f *testing.F) {
	f.Add(`(module (func (export "run") (result i32) (i32.const 7)))`)
	f.Add(`(memory 1) (data (i32.const 0) "a") (table 1 funcref) (elem (i32.const 0) func 0) (func $f (param $x i32) (local i64) block loop br 1 end end)`)
	f.Add(`(func (if (result i32) (i32.const 1) (then (i32.const 2)) (else (unreachable))) (drop (select (result i32) (i32.const 0) (i32.const 1) (i32.const 2))))`)
	f.Add(`(func v128.const f32x4 1 0x1p3 nan -inf drop memory.init 0 table.copy 0 1 i32.load8_u offset=3 align=1)`)
	f.Fuzz(func(t *testing.T, text string) {
		module, err := wat.Assemble([]byte(text))
		if err != nil {
			if module != nil || !errors.As(err, new(*wat.Error)) {
				t.Errorf("got %x and %v", module, err)
			}
			return
		}
		withoutCustom(t, module)
		again, err := wat.Assemble([]byte(text))
		if err != nil || !bytes.Equal(module, again) {
			t.Error("another module the second time")
		}
	})
}
