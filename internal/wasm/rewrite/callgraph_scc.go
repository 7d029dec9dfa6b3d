package rewrite

// visit is one node on the path of the depth-first search, which keeps its own
// stack: the depth of a call graph is the guest's choice.
type visit struct {
	node uint32
	next int // successor to look at
}

// connect finds the strongly connected components (Tarjan), callees first.
func (g *graph) connect() {
	n := g.nodes()
	g.component = make([]int32, n)
	g.recursive = make([]bool, n)
	g.order = make([]uint32, 0, n)
	s := &search{g: g, index: make([]int32, n), low: make([]int32, n)}
	for k := range n {
		g.component[k] = -1
	}
	for k := range n {
		if s.index[k] == 0 {
			s.from(uint32(k))
		}
	}
}

type search struct {
	g          *graph
	index, low []int32 // 0: not seen yet
	seen       int32
	path       []visit
	open       []uint32 // nodes whose component isn't known
	components int32
}

func (s *search) push(n uint32) {
	s.seen++
	s.index[n], s.low[n] = s.seen, s.seen
	s.open = append(s.open, n)
	s.path = append(s.path, visit{node: n})
}

func (s *search) from(root uint32) {
	s.push(root)
	for len(s.path) > 0 {
		top := &s.path[len(s.path)-1]
		next, ok := s.g.successor(top.node, top.next)
		if !ok {
			s.close(top.node)
			continue
		}
		top.next++
		s.edge(top.node, next)
	}
}

func (s *search) edge(n, next uint32) {
	switch {
	case s.index[next] == 0:
		s.push(next)
	case s.g.component[next] < 0:
		s.low[n] = min(s.low[n], s.index[next])
		if n == next {
			s.g.recursive[n] = true
		}
	}
}

// close leaves a node and, if it is the first of its component, the component.
func (s *search) close(n uint32) {
	s.path = s.path[:len(s.path)-1]
	if len(s.path) > 0 {
		up := s.path[len(s.path)-1].node
		s.low[up] = min(s.low[up], s.low[n])
	}
	if s.low[n] != s.index[n] {
		return
	}
	first := len(s.open) - 1
	for s.open[first] != n {
		first--
	}
	for _, member := range s.open[first:] {
		s.g.component[member] = s.components
		s.g.recursive[member] = s.g.recursive[member] || len(s.open)-first > 1
		s.g.order = append(s.g.order, member)
	}
	s.open = s.open[:first]
	s.components++
}

// chainWords is the stack that the longest chain of calls takes, recursive
// functions left out, which draw theirs as they run.
func (g *graph) chainWords() uint64 {
	var longest uint64
	chain := make([]uint64, g.nodes())
	for first := 0; first < len(g.order); {
		last := first
		var below uint64
		for last < len(g.order) && g.component[g.order[last]] == g.component[g.order[first]] {
			below = max(below, g.deepestCallee(chain, g.order[last]))
			last++
		}
		for _, n := range g.order[first:last] {
			chain[n] = below
			if int(n) < len(g.facts) && !g.recursive[n] {
				chain[n] += g.facts[n].words
			}
		}
		longest = max(longest, chain[g.order[first]])
		first = last
	}
	return longest
}

func (g *graph) deepestCallee(chain []uint64, n uint32) (deepest uint64) {
	for k := 0; ; k++ {
		next, ok := g.successor(n, k)
		if !ok {
			return deepest
		}
		if g.component[next] != g.component[n] {
			deepest = max(deepest, chain[next])
		}
	}
}
