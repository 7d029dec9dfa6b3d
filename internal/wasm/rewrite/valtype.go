package rewrite

import "strings"

// ValType is a value type, as its byte in the binary format.
type ValType byte

// The value types of WebAssembly 2.0.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f

	anyType ValType = 0 // bottom: what unreachable code pops
)

// String is the type's name in the text format.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	case anyType:
		return "any"
	}
	return "unknown"
}

func (t ValType) isRef() bool   { return t == FuncRef || t == ExternRef }
func (t ValType) isFloat() bool { return t == F32 || t == F64 || t == V128 }

// words is how many 8-byte words a value takes.
func (t ValType) words() uint64 {
	if t == V128 {
		return 2
	}
	return 1
}

// FuncType is a function signature.
type FuncType struct {
	Params, Results []ValType
}

// String is "(i32 i64) -> (f32)".
func (t FuncType) String() string { return typeList(t.Params) + " -> " + typeList(t.Results) }

func typeList(ts []ValType) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, t := range ts {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.String())
	}
	b.WriteByte(')')
	return b.String()
}

func (r *reader) valType(what string) ValType {
	at := r.pos
	t := ValType(r.byte(what))
	switch t {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
		return t
	case 0x63, 0x64, 0x6e, 0x6d, 0x6c, 0x6b, 0x6a, 0x69, 0x71, 0x72, 0x73, 0x74:
		fail(at, "%s: type 0x%x belongs to typed references, gc or exceptions, which aren't supported", what, byte(t))
	}
	fail(at, "%s: got 0x%x, want a value type", what, byte(t))
	return 0
}

func (r *reader) refType(what string) ValType {
	at := r.pos
	t := r.valType(what)
	if !t.isRef() {
		fail(at, "%s: got %s, want funcref or externref", what, t)
	}
	return t
}
