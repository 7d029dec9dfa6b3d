package rewrite

// nanFlow follows dirt through a body. It walks the body until what is known
// where ways meet no longer changes, and then once more while code is emitted.
type nanFlow struct {
	c      *code
	floats []uint32 // locals that hold floats
	locals []dirt   // by local
	stack  []dirt
	frames []nanFrame
	joins  [][]dirt // by block, in order: what is known of floats at its label
	live   liveness
	next   int // block that opens next
	dead   bool
	change bool
	clean  cleaner // what emits; nil while only walking
}

// cleaner emits the code that makes values canonical.
type cleaner interface {
	cleanLocal(local uint32, s nanShape)
	cleanStack(types []ValType, ds []dirt) // the operands on top, deepest first
	elseArm()                              // opens an else that the guest left out
}

type nanFrame struct {
	op     opcode
	join   int
	height int
	sig    blockType
	saved  []dirt // of an if: the floats as they were, for the other arm
}

// flowWork bounds what the walk may keep and merge for one body; beyond it,
// each operation cleans up at once.
const flowWork = 1 << 22

// start finds what is known at each label of a body. It reports whether there is
// anything to follow; if not, each operation has to clean up at once.
func (n *nanFlow) start(c *code) bool {
	n.c = c
	n.floats = n.floats[:0]
	blocks, any := 1, false
	for k := range c.ins {
		switch op := c.ins[k].op; op {
		case opBlock, opLoop, opIf, opBr, opBrIf, opBrTable:
			blocks++
		default:
			any = any || op.arithmetic() != notFloat
		}
	}
	if !any {
		return false
	}
	for l, t := range c.locals {
		if t.isFloat() {
			n.floats = append(n.floats, uint32(l))
		}
	}
	if blocks*(len(n.floats)+1)+len(c.labels)*len(n.floats) > flowWork {
		return false
	}
	n.joins = n.joins[:0]
	return n.live.compute(c, n.floats) && n.solve()
}

// mostWalks bounds how often a body is walked. Programs take three or four; a
// nest of loops made for it takes as many as it is deep.
const mostWalks = 16

// solve walks until nothing changes. It reports whether that was soon.
func (n *nanFlow) solve() bool {
	n.clean = nil
	for range mostWalks {
		n.begin()
		n.change = false
		for k := range n.c.ins {
			n.step(&n.c.ins[k])
		}
		if !n.change {
			return true
		}
	}
	return false
}

// begin stands at the first instruction.
func (n *nanFlow) begin() {
	n.locals = append(n.locals[:0], make([]dirt, len(n.c.locals))...)
	for _, l := range n.floats {
		if int(l) >= len(n.c.typ.Params) {
			n.locals[l] = known // zero
		}
	}
	n.stack, n.frames, n.next, n.dead = n.stack[:0], n.frames[:0], 0, false
	n.frames = append(n.frames, nanFrame{sig: blockType{results: n.c.typ.Results}, join: n.newJoin()}) // join 0, where no local is live
}

func (n *nanFlow) newJoin() int {
	k := n.next
	n.next++
	if k == len(n.joins) {
		js := make([]dirt, len(n.floats))
		for i := range js {
			js[i] = unset
		}
		n.joins = append(n.joins, js)
	}
	return k
}

// edge merges what is known into a label, and cleans what the label wants clean.
func (n *nanFlow) edge(join int) {
	js, live := n.joins[join], n.live.at[join]
	for i, l := range n.floats {
		if !live.has(int32(i)) {
			continue
		}
		d := n.locals[l]
		if m := js[i].merge(d); m != js[i] {
			js[i] = m
			n.change = true
		}
		if d.isDirty() && js[i].needsClean() {
			if n.clean != nil {
				n.clean.cleanLocal(l, d.shape())
			}
			n.locals[l] = known
		}
	}
}

// arrive takes over what is known at a label.
func (n *nanFlow) arrive(join int) {
	for i, l := range n.floats {
		n.locals[l] = n.joins[join][i].settled()
	}
	n.dead = false
}

// operands cleans the values on top of the stack, which the instruction sees.
func (n *nanFlow) operands(ts []ValType) {
	ds := n.stack[len(n.stack)-len(ts):]
	for _, d := range ds {
		if !d.isDirty() {
			continue
		}
		if n.clean != nil {
			n.clean.cleanStack(ts, ds)
		}
		for i := range ds {
			if ds[i].isDirty() {
				ds[i] = known
			}
		}
		return
	}
}

func (n *nanFlow) push(d dirt) { n.stack = append(n.stack, d) }

func (n *nanFlow) pop() dirt {
	d := n.stack[len(n.stack)-1]
	n.stack = n.stack[:len(n.stack)-1]
	return d
}

func (n *nanFlow) drop(k int) { n.stack = n.stack[:len(n.stack)-k] }

func (n *nanFlow) pushExact(k int) {
	for range k {
		n.push(exact)
	}
}
