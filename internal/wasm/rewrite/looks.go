package rewrite

// looks finds the loops that needn't look at the tank at their head, as each way
// around them looks already: it calls the host, or a function that begins with a
// look, as all that recurse do.
type looks struct {
	need   []bool // by loop, in order
	frames []lookFrame
	sure   bool // every way to here, from the innermost loop's head, has looked
	dead   bool
}

type lookFrame struct {
	op     opcode
	loop   int  // its number, of a loop
	label  bool // every branch to its end has looked
	entry  bool // sure when it was entered
	joined bool // some branch goes to its end
}

// plan fills l.need for the body in c.
func (l *looks) plan(c *code, ps []plan, imported int, byType func(uint32) bool) {
	l.need, l.frames, l.sure, l.dead = l.need[:0], append(l.frames[:0], lookFrame{}), false, false
	for k := range c.ins {
		in := &c.ins[k]
		switch in.op {
		case opBlock, opIf, opLoop:
			l.open(in.op)
		case opElse:
			fr := &l.frames[len(l.frames)-1]
			l.join(fr)
			fr.op, l.sure, l.dead = opElse, fr.entry, false
		case opEnd:
			l.close()
		case opBr, opBrIf:
			l.branch(in.a)
		case opBrTable:
			for _, x := range c.labels[in.a : in.a+in.b] {
				l.branch(x)
			}
		case opCall:
			l.sure = l.sure || int(in.a) < imported || ps[in.a].check
		case opCallIndirect:
			l.sure = l.sure || byType(in.a)
		case opMemoryFill, opMemoryCopy, opMemoryInit, opTableFill, opTableCopy, opTableInit:
			l.sure = true
		}
		if in.op == opBr || in.op == opBrTable || in.op == opReturn || in.op == opUnreachable {
			l.dead = true
		}
	}
}

func (l *looks) open(op opcode) {
	fr := lookFrame{op: op, label: true, entry: l.sure}
	if op == opLoop {
		fr.loop = len(l.need)
		l.need = append(l.need, false)
		l.sure = false
	}
	l.frames = append(l.frames, fr)
}

func (l *looks) branch(label uint32) {
	fr := &l.frames[len(l.frames)-1-int(label)]
	if fr.op == opLoop {
		l.need[fr.loop] = l.need[fr.loop] || !l.sure
		return
	}
	fr.label, fr.joined = fr.label && l.sure, true
}

// join is the way from the end of a block or arm to what follows.
func (l *looks) join(fr *lookFrame) {
	if !l.dead {
		fr.label, fr.joined = fr.label && l.sure, true
	}
}

func (l *looks) close() {
	fr := l.frames[len(l.frames)-1]
	l.frames = l.frames[:len(l.frames)-1]
	switch fr.op {
	case opLoop:
		// What was sure before the loop stays so, and a look at its head is one.
		l.sure = l.sure || fr.entry || l.need[fr.loop]
	default:
		l.join(&fr)
		if fr.op == opIf { // the way around it
			fr.label = fr.label && fr.entry
		}
		l.sure = fr.label
	}
	l.dead = false
}
