package rewrite

// step moves over one instruction. While emitting it is called just before the
// instruction is written.
func (n *nanFlow) step(in *instr) {
	switch in.op {
	case opBlock, opLoop, opIf:
		n.open(in)
	case opElse:
		n.orElse()
	case opEnd:
		n.close()
	case opBr, opBrIf, opBrTable, opReturn, opUnreachable:
		n.branch(in)
	case opCall:
		n.call(n.c.m.funcType(in.a), 0)
	case opCallIndirect:
		n.call(&n.c.m.types[in.a], 1)
	case opLocalGet:
		n.push(n.locals[in.a])
	case opLocalSet:
		n.locals[in.a] = n.pop()
	case opLocalTee:
		n.locals[in.a] = n.stack[len(n.stack)-1]
	case opDrop:
		n.pop()
	case opSelect, opSelectT:
		n.pick(ValType(in.a))
	default:
		n.plain(in)
	}
}

func (n *nanFlow) open(in *instr) {
	if in.op == opIf {
		n.pop()
	}
	sig := n.c.rawType(in.a)
	fr := nanFrame{op: in.op, sig: sig, height: len(n.stack) - len(sig.params)}
	fr.join = n.newJoin()
	switch in.op {
	case opLoop:
		n.operands2(sig.params, 0)
		n.edge(fr.join)
		n.arrive(fr.join)
		n.forget(len(sig.params))
	case opIf:
		// Both arms begin with the same operands, which this keeps simple.
		n.operands2(sig.params, 1)
		n.forget(len(sig.params))
		for _, l := range n.floats {
			fr.saved = append(fr.saved, n.locals[l])
		}
	}
	n.frames = append(n.frames, fr)
}

// forget makes the top operands exact: they were cleaned, and come from several ways.
func (n *nanFlow) forget(k int) {
	n.drop(k)
	n.pushExact(k)
}

// operands2 cleans the operands ts that lie below k integers, which are gone
// from n.stack already.
func (n *nanFlow) operands2(ts []ValType, ints int) {
	if ints == 0 || n.clean == nil {
		n.operands(ts)
		return
	}
	n.pushExact(ints)
	all := ts
	for range ints {
		all = append(all[:len(all):len(all)], I32)
	}
	n.operands(all)
	n.drop(ints)
}

func (n *nanFlow) orElse() {
	fr := &n.frames[len(n.frames)-1]
	n.fallInto(fr)
	fr.op = opElse
	n.stack = n.stack[:fr.height]
	n.pushExact(len(fr.sig.params))
	n.restore(fr)
}

func (n *nanFlow) restore(fr *nanFrame) {
	for i, l := range n.floats {
		n.locals[l] = fr.saved[i]
	}
	n.dead = false
}

// fallInto is the way from the end of a block or arm to what follows it.
func (n *nanFlow) fallInto(fr *nanFrame) {
	if n.dead {
		return
	}
	n.operands(fr.sig.results)
	if fr.op != opLoop { // a loop's end is no label
		n.edge(fr.join)
	}
}

func (n *nanFlow) close() {
	fr := n.frames[len(n.frames)-1]
	n.fallInto(&fr)
	if fr.op == opIf {
		n.missingElse(&fr)
	}
	n.frames = n.frames[:len(n.frames)-1]
	if len(n.frames) == 0 {
		return
	}
	n.stack = n.stack[:fr.height]
	n.pushExact(len(fr.sig.results))
	if fr.op != opLoop {
		n.arrive(fr.join)
	}
	n.dead = false
}

// missingElse is the other way around an if without an else. It gets an arm of
// its own when there is something to clean on it.
func (n *nanFlow) missingElse(fr *nanFrame) {
	n.restore(fr)
	if n.clean != nil {
		for i, l := range n.floats {
			if n.live.at[fr.join].has(int32(i)) && n.locals[l].isDirty() && n.joins[fr.join][i].needsClean() {
				n.clean.elseArm()
				break
			}
		}
	}
	n.edge(fr.join)
}

func (n *nanFlow) branch(in *instr) {
	switch in.op {
	case opBr:
		n.operands(n.label(in.a).types())
		n.edge(n.label(in.a).join)
	case opBrIf:
		n.pop()
		n.operands2(n.label(in.a).types(), 1)
		n.edge(n.label(in.a).join)
		return
	case opBrTable:
		n.pop()
		ls := n.c.labels[in.a : in.a+in.b]
		n.operands2(n.label(ls[0]).types(), 1)
		for _, l := range ls {
			n.edge(n.label(l).join)
		}
	case opReturn:
		n.operands(n.c.typ.Results)
	}
	n.dead = true
}

func (n *nanFlow) label(l uint32) *nanFrame { return &n.frames[len(n.frames)-1-int(l)] }

func (fr *nanFrame) types() []ValType {
	if fr.op == opLoop {
		return fr.sig.params
	}
	return fr.sig.results
}

// call: who is called, sees what it is given.
func (n *nanFlow) call(t *FuncType, ints int) {
	n.drop(ints)
	n.operands2(t.Params, ints)
	n.drop(len(t.Params))
	n.pushExact(len(t.Results))
}

// pick is select: it moves one of two values, so a dirty one is cleaned unless
// the other can take being cleaned too.
func (n *nanFlow) pick(t ValType) {
	n.pop()
	a, b := n.stack[len(n.stack)-2], n.stack[len(n.stack)-1]
	if m := a.merge(b); m == clash {
		n.operands2([]ValType{t, t}, 1)
	}
	b, a = n.pop(), n.pop()
	n.push(a.merge(b).settled())
}
