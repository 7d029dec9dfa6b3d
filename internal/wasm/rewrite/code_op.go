package rewrite

import "encoding/binary"

// step reads and checks one instruction.
func (c *code) step() {
	c.at = c.r.pos
	c.op = c.readOpcode()
	if c.op.isVector() {
		c.m.usesV128 = true
	}
	in := c.op.info()
	if in == nil {
		c.unknown()
	}
	mark := len(c.ins)
	live := c.live()
	if live {
		c.ins = append(c.ins, instr{op: c.op, off: uint32(c.at)})
	}
	a, b := c.immediate(in)
	if in.special {
		a, b = c.special(a, b)
	} else {
		for k := len(in.in) - 1; k >= 0; k-- {
			c.pop(ValType(in.in[k]))
		}
		if in.out != 0 {
			c.push(in.out)
		}
	}
	if live {
		p := &c.ins[mark]
		p.end, p.a, p.b = uint32(c.r.pos), a, b
	}
}

// live reports whether the instruction at hand can be reached: an end or else
// belongs to its block, which counts as reached if its beginning was.
func (c *code) live() bool {
	top := &c.frames[len(c.frames)-1]
	if c.op == opEnd || c.op == opElse {
		return !top.dead
	}
	return !top.dead && !top.unreachable
}

func (c *code) readOpcode() opcode {
	op := opcode(c.r.byte("instruction"))
	switch op {
	case 0xfc:
		n := c.r.u32("instruction")
		if n >= uint32(len(miscOps)) {
			fail(c.at, "instruction 0xfc 0x%x is unknown", n)
		}
		return miscBase + opcode(n)
	case 0xfd:
		return c.readVectorOpcode()
	}
	return op
}

// readVectorOpcode wants the shortest form. The standard admits longer ones,
// which nobody writes and which our engine reads as other instructions.
func (c *code) readVectorOpcode() opcode {
	first := c.r.pos
	n := c.r.u32("instruction")
	switch {
	case n >= 0x100 && n < 0x120:
		fail(c.at, "instruction 0xfd 0x%x belongs to relaxed simd, which isn't supported", n)
	case n >= 0x100:
		fail(c.at, "instruction 0xfd 0x%x is unknown", n)
	case c.r.pos-first != len(binary.AppendUvarint(nil, uint64(n))):
		fail(c.at, "vector instruction 0x%x isn't written in its shortest form", n)
	}
	return simdBase + opcode(n)
}

func (c *code) unknown() {
	if what := refusedOpcode(c.op); what != "" {
		fail(c.at, "instruction 0x%x belongs to %s, which aren't supported", uint16(c.op), what)
	}
	fail(c.at, "instruction 0x%x is unknown", uint16(c.op))
}
