package rewrite

func (c *code) push(t ValType) {
	c.stack = append(c.stack, t)
	if len(c.stack) > c.maxHeight {
		c.maxHeight = len(c.stack)
	}
}

// pop takes a value of the wanted type; below unreachable code there is one of any.
func (c *code) pop(want ValType) ValType {
	fr := &c.frames[len(c.frames)-1]
	if len(c.stack) == fr.height {
		if fr.unreachable {
			return want
		}
		fail(c.at, "%s: want a %s, the stack is empty", c.op, want)
	}
	got := c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
	if got != want && got != anyType && want != anyType {
		fail(c.at, "%s: got a %s, want a %s", c.op, got, want)
	}
	if got == anyType {
		return want
	}
	return got
}

func (c *code) popAll(ts []ValType) {
	for k := len(ts) - 1; k >= 0; k-- {
		c.pop(ts[k])
	}
}

func (c *code) pushAll(ts []ValType) {
	for _, t := range ts {
		c.push(t)
	}
}

func (c *code) enter(op opcode, sig blockType) {
	top := &c.frames[len(c.frames)-1]
	if len(c.frames) > c.m.lim.Nesting {
		failLimit(c.at, "%s: blocks nest deeper than %d", op, c.m.lim.Nesting)
	}
	c.frames = append(c.frames, frame{op: op, sig: sig, height: len(c.stack), dead: top.dead || top.unreachable})
	c.joins++
	c.pushAll(sig.params)
}

// leave closes the innermost block; its results must be all that it left.
func (c *code) leave() frame {
	fr := c.frames[len(c.frames)-1]
	c.popAll(fr.sig.results)
	if len(c.stack) != fr.height {
		fail(c.at, "%s: %d values are left on the stack", c.op, len(c.stack)-fr.height)
	}
	c.frames = c.frames[:len(c.frames)-1]
	return fr
}

func (c *code) setUnreachable() {
	fr := &c.frames[len(c.frames)-1]
	c.stack = c.stack[:fr.height]
	fr.unreachable = true
}

// label is the frame that a branch names.
func (c *code) label(n uint32) *frame {
	if int64(n) >= int64(len(c.frames)) {
		fail(c.at, "%s: label %d is unknown, %d blocks are open", c.op, n, len(c.frames))
	}
	fr := &c.frames[len(c.frames)-1-int(n)]
	c.work += len(fr.labelTypes())
	return fr
}
