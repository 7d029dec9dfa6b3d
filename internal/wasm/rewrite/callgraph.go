package rewrite

// facts is what one pass over a function's body tells about it.
type facts struct {
	calls    []uint32 // functions that it calls by name, one for each call
	indirect []uint32 // types that it calls through a table
	words    uint64   // of its frame
	units    int64    // fixed costs of all its instructions
	vectors  int64    // how many of them are vector instructions
	straight bool     // it never branches, nor does a thing whose cost depends on its operands
}

// graph is the call graph. Behind the functions it has a node for each type:
// who calls through a table reaches the functions of that type whose reference
// the module ever takes.
type graph struct {
	m          *module
	simdWeight int64
	facts      []facts // by function; empty for imported ones
	taken      []bool  // by function: its reference is taken, by ref.func or an element
	canon      []uint32
	byType     [][]uint32 // taken functions, by canonical type
	component  []int32    // by node: its strongly connected component
	order      []uint32   // nodes, callees first
	recursive  []bool     // by node: it can be on the stack twice
	typeExits  []bool     // by canonical type: a call through a table may reach the host
	typeLooks  []bool     // by canonical type: it looks at the tank at once
}

// frameWords is the stack allowance that a call draws while it can recurse: the
// values of the frame and, in wide measure, what a compiler spills. It is our
// own count and the same on every machine.
func frameWords(c *code) uint64 {
	w := 8 + uint64(c.maxHeight) + uint64(len(c.ins))/4
	for _, t := range c.locals {
		w += t.words()
	}
	return w
}

func newGraph(m *module, simdWeight int64) *graph {
	return &graph{m: m, simdWeight: simdWeight, facts: make([]facts, len(m.funcs)), taken: make([]bool, len(m.funcs))}
}

// add notes a function's body; it is called for each, in order.
func (g *graph) add(f uint32, c *code) {
	x := &g.facts[f]
	x.words, x.straight = frameWords(c), true
	for k := range c.ins {
		in := &c.ins[k]
		x.units += in.op.cost(g.simdWeight)
		if in.op.isVector() {
			x.vectors++
		}
		switch in.op {
		case opCall:
			x.calls = append(x.calls, in.a)
		case opCallIndirect:
			x.indirect = appendNew(x.indirect, in.a)
		case opRefFunc:
			g.taken[in.a] = true
		case opLoop, opIf, opBr, opBrIf, opBrTable:
			x.straight = false
		case opReturn, opUnreachable:
			x.straight = x.straight && k == len(c.ins)-2 // nothing but the end comes after it
		}
		if in.op.bulk() != bulkNone {
			x.straight = false
		}
	}
}

// appendNew skips what was appended just before.
func appendNew(s []uint32, v uint32) []uint32 {
	if n := len(s); n > 0 && s[n-1] == v {
		return s
	}
	return append(s, v)
}

// finish computes the graph once all bodies are known.
func (g *graph) finish() {
	g.takeReferences()
	g.sortTypes()
	g.connect()
}

func (g *graph) takeReferences() {
	for k := range g.m.elems {
		for _, f := range g.m.elems[k].items {
			if f&globalItem == 0 {
				g.taken[f] = true
			}
		}
	}
	for _, x := range g.m.globals {
		if x.init.op == opRefFunc && x.init.end > 0 {
			g.taken[x.init.val] = true
		}
	}
}

// sortTypes gives each type its first twin and gathers the taken functions.
func (g *graph) sortTypes() {
	first := map[string]uint32{}
	g.canon = make([]uint32, len(g.m.types))
	for i, t := range g.m.types {
		k := t.key()
		if _, ok := first[k]; !ok {
			first[k] = uint32(i)
		}
		g.canon[i] = first[k]
	}
	g.byType = make([][]uint32, len(g.m.types))
	for f, yes := range g.taken {
		if t := g.canon[g.m.funcs[f]]; yes {
			g.byType[t] = append(g.byType[t], uint32(f))
		}
	}
}

func (g *graph) nodes() int { return len(g.m.funcs) + len(g.m.types) }

// successor is the k-th node that n calls; false past the last.
func (g *graph) successor(n uint32, k int) (uint32, bool) {
	if int(n) >= len(g.m.funcs) {
		fs := g.byType[int(n)-len(g.m.funcs)]
		if k < len(fs) {
			return fs[k], true
		}
		return 0, false
	}
	x := &g.facts[n]
	if k < len(x.calls) {
		return x.calls[k], true
	}
	if k -= len(x.calls); k < len(x.indirect) {
		return uint32(len(g.m.funcs)) + g.canon[x.indirect[k]], true
	}
	return 0, false
}
