package rewrite

func (m *module) typeSection(s *reader) {
	n := s.count("type count", 3, m.lim.Types)
	m.types = make([]FuncType, 0, n)
	values := 0
	for range n {
		at := s.pos
		switch form := s.byte("type form"); form {
		case 0x60:
			params := s.valTypes("parameter count", m.lim.Params)
			results := s.valTypes("result count", m.lim.Results)
			m.types = append(m.types, FuncType{params, results})
			if values += len(params) + len(results); values > m.lim.TypeValues {
				failLimit(at, "types have more than %d parameters and results in all, which is the limit", m.lim.TypeValues)
			}
		case 0x5f, 0x5e, 0x50, 0x4f, 0x4e:
			fail(at, "type form 0x%x belongs to gc, which isn't supported", form)
		default:
			fail(at, "got type form 0x%x, want 0x60, a function type", form)
		}
	}
}

func (r *reader) valTypes(what string, limit int) []ValType {
	n := r.count(what, 1, limit)
	if n == 0 {
		return nil
	}
	ts := make([]ValType, n)
	for i := range ts {
		ts[i] = r.valType(what)
	}
	return ts
}

func (m *module) typeIndex(r *reader) uint32 {
	at := r.pos
	i := r.u32("type index")
	if int64(i) >= int64(len(m.types)) {
		fail(at, "type %d is unknown, the module has %d", i, len(m.types))
	}
	return i
}

func (m *module) functionSection(s *reader) {
	n := s.count("function count", 1, m.lim.Functions)
	for range n {
		m.funcs = append(m.funcs, m.typeIndex(s))
	}
	m.declared = make([]bool, len(m.funcs))
}

func (m *module) tableSection(s *reader) {
	n := s.count("table count", 3, m.lim.Tables)
	for range n {
		m.tables = append(m.tables, m.tableType(s))
	}
}

func (m *module) tableType(s *reader) tableType {
	at := s.pos
	if s.left() > 0 && s.b[s.pos] == 0x40 {
		fail(at, "a table with an initial value belongs to typed references, which aren't supported")
	}
	t := tableType{elem: s.refType("table type")}
	t.min, t.max, t.hasMax = s.limits("table", 1<<32-1)
	m.tableEntries += uint64(t.min)
	if m.tableEntries > uint64(m.lim.TableEntries) {
		failLimit(at, "tables have %d entries at the start, want at most %d", m.tableEntries, m.lim.TableEntries)
	}
	return t
}

func (m *module) memorySection(s *reader) {
	at := s.pos
	n := s.count("memory count", 2, m.lim.ModuleBytes)
	for range n {
		m.addMemory(at, s)
	}
}

func (m *module) addMemory(at int, s *reader) {
	if len(m.mems) > 0 {
		fail(at, "a second memory belongs to multi-memory, which isn't supported")
	}
	var t memType
	t.min, t.max, t.hasMax = s.limits("memory", maxPages)
	m.mems = append(m.mems, t)
}

// maxPages is a 32-bit address space of 64 KiB pages.
const maxPages = 1 << 16

func (r *reader) limits(what string, most uint32) (low, high uint32, hasMax bool) {
	at := r.pos
	flag := r.byte(what + " limits")
	switch {
	case flag > 1 && flag <= 3:
		fail(at, "%s: a shared one belongs to threads, which aren't supported", what)
	case flag > 3 && flag <= 7:
		fail(at, "%s: 64-bit indices belong to memory64, which isn't supported", what)
	case flag > 1:
		fail(at, "%s: got limits flag 0x%x, want 0 or 1", what, flag)
	}
	low = r.u32(what + " minimum")
	high = most
	if hasMax = flag == 1; hasMax {
		high = r.u32(what + " maximum")
	}
	if low > high || high > most {
		fail(at, "%s: got limits %d to %d, want minimum <= maximum <= %d", what, low, high, most)
	}
	return low, high, hasMax
}

func (m *module) globalSection(s *reader) {
	n := s.count("global count", 5, m.lim.Globals)
	for range n {
		g := m.globalType(s)
		g.init = m.constExpr(s, g.typ)
		m.globals = append(m.globals, g)
	}
}

func (m *module) globalType(s *reader) globalType {
	t := s.valType("global type")
	m.sawType(t)
	at := s.pos
	mut := s.byte("global mutability")
	if mut > 1 {
		fail(at, "global mutability: got 0x%x, want 0 or 1", mut)
	}
	return globalType{typ: t, mutable: mut == 1}
}

func (m *module) startSection(s *reader) {
	at := s.pos
	f := m.funcIndex(s)
	if t := m.funcType(f); len(t.Params)+len(t.Results) != 0 {
		fail(at, "start function %d: got type %s, want () -> ()", f, *t)
	}
	m.start = int(f)
}

func (m *module) funcIndex(r *reader) uint32 {
	at := r.pos
	f := r.u32("function index")
	if int64(f) >= int64(len(m.funcs)) {
		fail(at, "function %d is unknown, the module has %d", f, len(m.funcs))
	}
	return f
}

func (m *module) sawType(t ValType) {
	if t == V128 {
		m.usesV128 = true
	}
}
