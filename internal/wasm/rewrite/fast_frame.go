package rewrite

// prologue looks at the tank and the stack allowance, if the function does. The
// body stands in the arm where all is well, so that the other arm is out of the
// way: it fetches more and calls the function again, with its arguments still
// as they were, so nothing has to survive the fetching but they.
func (w *fast) prologue(f uint32) {
	e, results := &w.e, w.o.blockOf(w.c.typ.Results)
	if w.p.check {
		w.wellIf(w.tank(), results)
	}
	if w.p.recurs {
		e.op1(opLocalGet, w.stackLocal())
		e.i64Const(int64(w.p.words))
		e.op(opI64Sub)
		e.op1(opLocalSet, w.stackLocal())
		w.wellIf(w.stackLocal(), results)
	}
	if !w.p.check && w.p.tank && w.pay.outward {
		w.open(opBlock, results)
	}
	w.frames = append(w.frames, outFrame{label: w.depth, sig: results})
}

// wellIf opens an if that is entered while the local isn't negative.
func (w *fast) wellIf(local, raw uint32) {
	w.e.op1(opLocalGet, local)
	w.e.i64Const(0)
	w.e.op(opI64GeS)
	w.open(opIf, raw)
}

func (w *fast) open(op opcode, raw uint32) {
	w.e.block(op, raw)
	w.depth++
}

func (w *fast) close() {
	w.e.op(opEnd)
	w.depth--
}

// epilogue closes what prologue opened.
func (w *fast) epilogue() {
	e := &w.e
	if !w.p.check {
		if w.p.tank && w.pay.outward {
			w.close()
		}
		return
	}
	if w.p.recurs {
		e.op(opElse)
		w.note()
		e.op1(opCall, w.o.hook(hookOverflow))
		e.op(opUnreachable)
		w.close()
	}
	e.op(opElse)
	for k := range w.c.typ.Params {
		e.op1(opLocalGet, uint32(k))
	}
	e.op1(opLocalGet, w.tank())
	e.op1(opCall, w.refill)
	if w.p.stack {
		e.op1(opLocalGet, w.stackLocal())
	}
	e.op1(opCall, w.o.fn(w.c.f))
	e.op(opReturn)
	w.close()
}
