package rewrite

// A metered module hands its tank from function to function in a register: each
// function takes it as one more parameter and returns it as one more result.
// Measured against a tank in a global, this is what makes metering cheap: a
// function that calls itself 2^30 times pays under 2 % for it, not 16 %. The
// stack allowance travels the same way, but only downwards: by value, so that
// nothing has to be given back. Functions whose cost is known before they run
// take neither; who calls them pays for them.

// plan says how one function is rewritten.
type plan struct {
	static  bool  // always costs units and vectors; takes no tank
	units   int64 // of all its instructions, of static callees too
	vectors int64
	tank    bool   // takes the tank, and returns it
	stack   bool   // takes the stack allowance: it, or what it calls, can recurse
	recurs  bool   // draws words of it
	words   uint64 // of its frame
	check   bool   // looks at the tank when it begins
	exits   bool   // may call the host, which may end the run for good
	total   int64  // most units that a call of it takes without a look at the tank
}

// checkEvery is how many units may run in one function without a look at the tank.
const checkEvery = 1024

// staticMost bounds what a caller pays in advance for one callee.
const staticMost = 512

// plans decides for all functions, those that are called first.
func (g *graph) plans() []plan {
	ps := make([]plan, len(g.m.funcs))
	types := make([]plan, len(g.m.types)) // what calls of a type may meet
	for first := 0; first < len(g.order); {
		last := first
		for last < len(g.order) && g.component[g.order[last]] == g.component[g.order[first]] {
			last++
		}
		g.planComponent(g.order[first:last], ps, types)
		first = last
	}
	g.typeExits = make([]bool, len(types))
	g.typeLooks = make([]bool, len(types))
	for t := range types {
		g.typeExits[t] = types[t].exits
		g.typeLooks[t] = true
		for _, f := range g.byType[t] {
			g.typeLooks[t] = g.typeLooks[t] && (ps[f].check || int(f) < g.m.importedFuncs)
		}
	}
	return ps
}

// planComponent plans functions that call each other; if one of them may reach
// the host or recursion, all may.
func (g *graph) planComponent(nodes []uint32, ps, types []plan) {
	var exits, stack bool
	at := func(n uint32) *plan {
		if int(n) < len(ps) {
			return &ps[n]
		}
		return &types[int(n)-len(ps)]
	}
	for _, n := range nodes {
		exits = exits || int(n) < g.m.importedFuncs
		stack = stack || g.recursive[n] || int(n) >= len(ps) || int(n) < len(ps) && (g.taken[n] || len(g.facts[n].indirect) > 0)
		for k := 0; ; k++ {
			next, ok := g.successor(n, k)
			if !ok {
				break
			}
			p := at(next)
			exits, stack = exits || p.exits, stack || p.stack
		}
	}
	for _, n := range nodes {
		p := at(n)
		p.exits, p.stack = exits, stack
		if int(n) >= g.m.importedFuncs && int(n) < len(ps) {
			g.planFunc(n, p, ps)
		}
	}
}

func (g *graph) planFunc(f uint32, p *plan, ps []plan) {
	x := &g.facts[f]
	p.units, p.vectors, p.words = x.units, x.vectors, x.words
	p.static = x.straight && !g.taken[f] && !g.recursive[f] && len(x.indirect) == 0
	p.total = x.units
	for _, callee := range x.calls {
		q := &ps[callee]
		if p.static = p.static && q.static; q.static {
			p.units += q.units
			p.vectors += q.vectors
		}
		if q.static || !q.check {
			p.total = min(p.total+q.total, 1<<40)
		}
	}
	if p.static = p.static && p.units <= staticMost; p.static {
		p.stack = false
		p.total = p.units
		return
	}
	p.tank = true
	p.recurs = g.recursive[f]
	p.check = p.recurs || p.total > checkEvery
}
