package rewrite

// instr writes one instruction of the guest's, and what it needs around it.
func (w *fast) instr(in *instr) {
	e := &w.e
	switch in.op {
	case opBlock, opIf:
		w.open(in.op, in.a)
		w.frames = append(w.frames, outFrame{op: in.op, label: w.depth, sig: in.a})
	case opLoop:
		w.loop(in)
	case opElse:
		e.op(opElse)
	case opEnd:
		w.end()
	case opBr, opBrIf:
		w.branch(in)
	case opBrTable:
		w.brTable(in)
	case opReturn:
		w.ret()
	case opUnreachable:
		if w.p.tank {
			w.note()
			w.flush()
		}
		e.op(opUnreachable)
	case opCall:
		w.call(in.a)
	case opCallIndirect:
		w.callIndirect(in)
	case opLocalGet, opLocalSet, opLocalTee:
		e.op1(in.op, w.local(in.a))
	case opRefFunc:
		e.op1(opGlobalGet, w.o.refGlobal(w.o.inTable(in.a)))
	default:
		if in.op.bulk() != bulkNone {
			w.bulk(in)
		}
		e.bytes(w.c.m.b[in.off:in.end])
	}
}

// loop looks at the tank at its head, before the charge, unless each way around
// looks anyway. The body stands in the arm where all is well; the other arm
// fetches more and begins the loop again.
func (w *fast) loop(in *instr) {
	w.open(opLoop, in.a)
	look := w.looks.need[w.loops]
	w.loops++
	w.frames = append(w.frames, outFrame{opLoop, w.depth, in.a, look})
	if look {
		w.wellIf(w.tank(), in.a)
		w.since = 0
	}
}

func (w *fast) end() {
	fr := w.frames[len(w.frames)-1]
	w.frames = w.frames[:len(w.frames)-1]
	switch {
	case len(w.frames) == 0:
		w.epilogue()
	case fr.look:
		w.e.op(opElse)
		w.fetch()
		w.e.op1(opBr, w.depth-fr.label)
		w.close()
		w.close()
	default:
		w.close()
	}
}

// label is the new depth of a guest's label.
func (w *fast) label(l uint32) uint32 {
	return w.depth - w.frames[len(w.frames)-1-int(l)].label
}

// branch writes br and br_if. The engine compiles a conditional branch back to a
// loop's head much better when it is an if around a plain branch.
func (w *fast) branch(in *instr) {
	fr := w.frames[len(w.frames)-1-int(in.a)]
	if in.op == opBrIf && fr.op == opLoop && len(w.c.rawType(fr.sig).params) == 0 {
		w.open(opIf, rawEmpty)
		w.e.op1(opBr, w.label(in.a))
		w.close()
		return
	}
	w.e.op1(in.op, w.label(in.a))
}

func (w *fast) brTable(in *instr) {
	w.e.op(opBrTable)
	w.e.u32(in.b - 1)
	for _, l := range w.c.labels[in.a : in.a+in.b] {
		w.e.u32(w.label(l))
	}
}

func (w *fast) ret() {
	if w.p.tank {
		w.flush()
		w.e.op1(opLocalGet, w.tank())
	}
	w.e.op(opReturn)
}

// note writes the tank where the host reads it.
func (w *fast) note() {
	w.e.op1(opLocalGet, w.tank())
	w.e.op1(opGlobalSet, w.o.fuel())
}
