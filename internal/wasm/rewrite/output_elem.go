package rewrite

// elementSection rewrites the segments and declares, in one more, all that
// ref.func may name: what an export declared before, it no longer does.
func (o *output) elementSection() []byte {
	var e enc
	e.u32(uint32(len(o.m.elems) + 1))
	for k := range o.m.elems {
		o.elementSegment(&e, &o.m.elems[k])
	}
	var declared []uint32
	for f, yes := range o.m.declared {
		if yes {
			declared = append(declared, o.inTable(uint32(f)))
		}
	}
	e.raw(3, 0)
	e.u32(uint32(len(declared)))
	for _, f := range declared {
		e.u32(f)
	}
	return e.b
}

// elementSegment writes every segment with expressions and an explicit table
// and type: one form for all eight.
func (o *output) elementSegment(e *enc, s *elemSegment) {
	switch s.mode {
	case segActive:
		e.u32(6)
		e.u32(s.table)
		o.constExpr(e, s.offset)
	case segPassive:
		e.u32(5)
	default:
		e.u32(7)
	}
	e.raw(byte(s.typ))
	e.u32(uint32(len(s.items)))
	for _, f := range s.items {
		switch {
		case f == nullItem:
			e.op(opRefNull)
			e.raw(byte(s.typ))
		case f&globalItem != 0:
			e.op1(opGlobalGet, f&^globalItem)
		default:
			e.op1(opRefFunc, o.inTable(f))
		}
		e.op(opEnd)
	}
}
