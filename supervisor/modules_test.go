package supervisor_test

import "slices"

// Modules that export run: () -> i32, by hand.

func module(memory bool, body ...byte) []byte {
	section := func(id byte, content ...byte) []byte { return append([]byte{id, byte(len(content))}, content...) }
	code := append([]byte{0}, body...) // no locals
	if body[0] == withLocal {
		code = append([]byte{1, 1, 0x7f}, body[1:]...)
	}
	code = append(code, 0x0b)
	m := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, 1, 0x60, 0, 1, 0x7f),
		section(3, 1, 0))
	if memory {
		m = append(m, section(5, 1, 0, 1)...)
	}
	return slices.Concat(m,
		section(7, append([]byte{1, 3}, "run\x00\x00"...)...),
		section(10, append([]byte{1, byte(len(code))}, code...)...))
}

// withLocal, before a body, gives it one i32 local. It is no opcode.
const withLocal = 0xff

func returns(n int) []byte { return module(false, 0x41, byte(n&0x7f)) }
func unreachable() []byte  { return module(false, 0x00) }

// spins loops for ever.
func spins() []byte { return module(false, 0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0) }

// grows asks for one page more for ever.
func grows() []byte {
	return module(true, 0x03, 0x40, 0x41, 1, 0x40, 0, 0x1a, 0x0c, 0, 0x0b, 0x41, 0)
}

// counts loops n times and returns 0.
func counts(n int32) []byte {
	body := []byte{withLocal, 0x41}
	body = append(body, sleb(n)...)
	body = append(body, 0x21, 0, // local.set 0
		0x03, 0x40, // loop
		0x20, 0, 0x41, 1, 0x6b, 0x22, 0, // local 0 -= 1
		0x0d, 0, // br_if 0
		0x0b, 0x41, 0)
	return module(false, body...)
}

func sleb(n int32) (out []byte) {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
