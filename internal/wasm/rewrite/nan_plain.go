package rewrite

// plain is any instruction with a fixed signature.
func (n *nanFlow) plain(in *instr) {
	info := in.op.info()
	if info.special {
		n.specialPlain(in)
		return
	}
	result := madeDirt(n.c.m.b, in)
	k := len(info.in)
	sees := false
	for _, d := range n.stack[len(n.stack)-k:] {
		if d.isDirty() {
			if _, ok := in.op.blind(d); !ok {
				sees = true
			}
		}
	}
	if sees {
		n.operands(typesOf(info.in))
	}
	if s := in.op.arithmetic(); s != notFloat {
		result = dirtyAs(s)
	} else if k == 1 && (n.stack[len(n.stack)-1].isDirty() || n.stack[len(n.stack)-1] == known) {
		result = in.op.passes(n.stack[len(n.stack)-1], result)
	}
	n.drop(k)
	if info.out != 0 {
		n.push(result)
	}
}

// passes is the dirt of a result that is no arithmetic: some instructions move
// their operand's lanes as they are.
func (op opcode) passes(d, otherwise dirt) dirt {
	if d.isDirty() {
		if r, ok := op.blind(d); ok && r != exact {
			return r
		}
		return otherwise
	}
	switch op {
	case 0x8b, 0x99, simdBase + 19, simdBase + 20, simdBase + 31, simdBase + 33: // abs, splats, lanes
		return known
	}
	return otherwise
}

// specialPlain is what is left: globals, tables and references.
func (n *nanFlow) specialPlain(in *instr) {
	switch in.op {
	case opGlobalGet, opRefNull, opRefFunc:
		n.push(exact)
	case opGlobalSet:
		n.operands(oneType(n.c.m.globals[in.a].typ))
		n.pop()
	case opTableGet, opRefIsNull:
		n.pop()
		n.push(exact)
	case opTableSet:
		n.drop(2)
	case opTableGrow:
		n.drop(2)
		n.push(exact)
	case opTableFill:
		n.drop(3)
	}
}

func typesOf(in string) []ValType {
	ts := make([]ValType, len(in))
	for k := range ts {
		ts[k] = ValType(in[k])
	}
	return ts
}

// rawType spells a block type out.
func (c *code) rawType(raw uint32) blockType {
	switch {
	case raw == rawEmpty:
		return blockType{raw: raw}
	case raw < rawType:
		return blockType{results: oneType(ValType(raw)), raw: raw}
	}
	t := &c.m.types[raw-rawType]
	return blockType{t.Params, t.Results, raw}
}
