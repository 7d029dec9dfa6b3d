package rewrite

import "slices"

// charges says where a body pays: at[k] is drawn just before instruction k.
//
// A stretch of instructions without a branch is paid where it begins. What
// follows a block is paid with what came before it if control can't help but
// get there: nothing inside leaves the block for further out, and nothing calls
// the host, which would see the count, or end the run. So every count that
// anybody sees is the number of instructions that were executed, neither more
// nor less; only a trap may leave some paid for in vain.
type charges struct {
	at     []charge
	frames []chargeFrame
	anchor int // where the stretch at hand pays
	dead   bool
	walls  int // calls that no payment may cross, so far
	splits []split

	outward bool // some branch goes to the end of the body
}

type charge struct{ units, vectors int64 }

// chargeFrame is an open block.
type chargeFrame struct {
	op       opcode
	before   int // anchor of the stretch that the block stands in
	walls    int // when it was entered
	escape   int // outermost frame that a branch inside goes to
	targeted bool
	then     int // anchors of an if's arms
	orElse   int
}

const noEscape = int(^uint(0) >> 1)

// plan computes the charges of the body in c.
func (w *charges) plan(c *code, weight int64, ps []plan, exitsByType func(uint32) bool) {
	w.at = append(w.at[:0], make([]charge, len(c.ins)+1)...)
	w.frames = append(w.frames[:0], chargeFrame{escape: noEscape})
	w.anchor, w.dead, w.walls, w.outward, w.splits = 0, false, 0, false, w.splits[:0]
	for k := range c.ins {
		in := &c.ins[k]
		p := &w.at[w.anchor]
		p.units += in.op.cost(weight)
		if in.op.isVector() {
			p.vectors++
		}
		switch in.op {
		case opBlock, opLoop, opIf:
			w.open(k, in.op)
		case opElse:
			w.orElse(k)
		case opEnd:
			w.close(k)
		case opBr, opBrIf, opBrTable, opReturn, opUnreachable:
			w.branch(k, in, c)
		case opCall:
			q := &ps[in.a]
			if q.static {
				p.units += q.units
				p.vectors += q.vectors
			}
			w.wall(k, q.exits)
		case opCallIndirect:
			w.wall(k, exitsByType(in.a))
		case opMemoryGrow, opTableGrow:
			w.wall(k, true)
		}
	}
	w.settle()
}

func (w *charges) wall(k int, yes bool) {
	if yes {
		w.anchor = k + 1
		w.walls++
	}
}

func (w *charges) open(k int, op opcode) {
	w.frames = append(w.frames, chargeFrame{op: op, before: w.anchor, walls: w.walls, escape: noEscape, then: k + 1})
	if op != opBlock {
		w.anchor = k + 1
	}
}

func (w *charges) orElse(k int) {
	fr := &w.frames[len(w.frames)-1]
	fr.op, fr.orElse = opElse, k+1
	w.anchor, w.dead = k+1, false
}

// branch notes how far out a branch goes. The stretch after it is another.
func (w *charges) branch(k int, in *instr, c *code) {
	top := len(w.frames) - 1
	to := func(label uint32) {
		fr := &w.frames[top-int(label)]
		fr.targeted = true
		w.frames[top].escape = min(w.frames[top].escape, top-int(label))
	}
	switch in.op {
	case opBr, opBrIf:
		to(in.a)
	case opBrTable:
		for _, l := range c.labels[in.a : in.a+in.b] {
			to(l)
		}
	case opReturn:
		w.frames[top].escape = 0
	}
	if in.op == opBrIf {
		w.anchor = k + 1
		return
	}
	w.dead = true
}

func (w *charges) close(k int) {
	top := len(w.frames) - 1
	fr := w.frames[top]
	w.frames = w.frames[:top]
	if top == 0 {
		w.outward = fr.targeted
		return
	}
	up := &w.frames[top-1]
	up.escape = min(up.escape, fr.escape)
	if fr.op == opElse {
		w.splits = append(w.splits, split{fr.before, fr.then, fr.orElse})
	}
	switch {
	case fr.escape >= top && fr.walls == w.walls:
		w.anchor = fr.before
	case !w.dead && (fr.op == opLoop || fr.op == opBlock && !fr.targeted):
		// Control comes here only from the stretch at hand, which goes on.
	default:
		w.anchor = k + 1
	}
	w.dead = false
}

// settle moves payments so that fewer are made: what both arms of an if pay
// alike, the stretch before pays; else the arms pay for it, if both pay anyway.
// It is called once all stretches are known, for outer ifs before inner ones.
func (w *charges) settle() {
	slices.SortFunc(w.splits, func(a, b split) int { return a.then - b.then })
	for _, s := range w.splits {
		p, a, b := &w.at[s.before], &w.at[s.then], &w.at[s.orElse]
		p.units, a.units, b.units = settle(p.units, a.units, b.units)
		p.vectors, a.vectors, b.vectors = settle(p.vectors, a.vectors, b.vectors)
	}
}

func settle(before, then, orElse int64) (int64, int64, int64) {
	switch {
	case then == 0 || orElse == 0:
		return before, then, orElse
	case then == orElse:
		return before + then, 0, 0
	}
	return 0, then + before, orElse + before
}

// split is an if with both arms: the anchors of the three stretches.
type split struct{ before, then, orElse int }
