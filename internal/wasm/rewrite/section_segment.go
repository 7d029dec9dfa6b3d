package rewrite

// constExpr reads a constant expression of the wanted type. In WebAssembly 2.0
// none of the admitted instructions takes an operand, so exactly one makes a value.
func (m *module) constExpr(s *reader, want ValType) constExpr {
	at := s.pos
	e := constExpr{span: span{start: at}}
	var got ValType
	switch e.op = opcode(s.byte("constant expression")); e.op {
	case opI32Const:
		e.val, got = uint64(uint32(s.signed(32, "i32.const"))), I32
	case opI64Const:
		e.val, got = uint64(s.signed(64, "i64.const")), I64
	case opF32Const:
		s.skip(4, "f32.const")
		got = F32
	case opF64Const:
		s.skip(8, "f64.const")
		got = F64
	case 0xfd:
		if opcode(s.u32("constant expression"))+simdBase != opV128Const {
			fail(at, "constant expression: the instruction isn't constant")
		}
		s.skip(16, "v128.const")
		e.op, got = opV128Const, V128
		m.usesV128 = true
	case opGlobalGet:
		e.val, got = m.constGlobal(s)
	case opRefNull:
		got = s.refType("ref.null")
	case opRefFunc:
		f := m.funcIndex(s)
		m.declared[f] = true
		e.val, got = uint64(f), FuncRef
	default:
		fail(at, "constant expression: %s isn't constant", e.op)
	}
	if got != want {
		fail(at, "constant expression: got %s, want %s", got, want)
	}
	endAt := s.pos
	if s.byte("constant expression") != byte(opEnd) {
		fail(endAt, "constant expression: want its end after one value")
	}
	e.end = s.pos
	return e
}

func (m *module) constGlobal(s *reader) (uint64, ValType) {
	at := s.pos
	g := s.u32("global index")
	if int64(g) >= int64(m.importedGlobals) {
		fail(at, "constant expression: global %d isn't an imported one", g)
	}
	if m.globals[g].mutable {
		fail(at, "constant expression: global %d is mutable", g)
	}
	return uint64(g), m.globals[g].typ
}

func (m *module) elementSection(s *reader) {
	n := s.count("element segment count", 3, m.lim.ElementSegments)
	m.elems = make([]elemSegment, 0, n)
	for range n {
		m.elems = append(m.elems, m.elementSegment(s))
	}
}

// elementSegment reads one of the eight forms: bit 0 passive or declared, bit 1
// an explicit table (or declared), bit 2 expressions instead of indices.
func (m *module) elementSegment(s *reader) elemSegment {
	at := s.pos
	flags := s.u32("element segment flags")
	if flags > 7 {
		fail(at, "element segment: got flags %d, want 0 to 7", flags)
	}
	e := elemSegment{typ: FuncRef, exprs: flags&4 != 0}
	switch {
	case flags&1 == 0:
		if flags&2 != 0 {
			e.table = s.u32("table index")
		}
		m.tableIndex(at, e.table)
		e.offset = m.constExpr(s, I32)
	case flags&2 == 0:
		e.mode = segPassive
	default:
		e.mode = segDeclared
	}
	if flags&3 != 0 {
		m.elementKind(s, &e)
	}
	if e.mode == segActive && m.tables[e.table].elem != e.typ {
		fail(at, "element segment: got %s, want %s as table %d holds", e.typ, m.tables[e.table].elem, e.table)
	}
	m.elementItems(s, &e)
	return e
}

func (m *module) elementKind(s *reader, e *elemSegment) {
	if e.exprs {
		e.typ = s.refType("element type")
		return
	}
	at := s.pos
	if kind := s.byte("element kind"); kind != 0 {
		fail(at, "element kind: got 0x%x, want 0, functions", kind)
	}
}

func (m *module) elementItems(s *reader, e *elemSegment) {
	size := 1
	if e.exprs {
		size = 3
	}
	n := s.count("element count", size, m.lim.TableEntries-m.elemItems)
	m.elemItems += n
	e.items = make([]uint32, n)
	for i := range e.items {
		if !e.exprs {
			e.items[i] = m.funcIndex(s)
			m.declared[e.items[i]] = true
			continue
		}
		e.items[i] = nullItem
		if x := m.constExpr(s, e.typ); x.op == opRefFunc {
			e.items[i] = uint32(x.val)
		} else if x.op == opGlobalGet {
			e.items[i] = globalItem | uint32(x.val)
		}
	}
}

func (m *module) tableIndex(at int, t uint32) {
	if int64(t) >= int64(len(m.tables)) {
		fail(at, "table %d is unknown, the module has %d", t, len(m.tables))
	}
}

func (m *module) dataSection(s *reader) {
	n := s.count("data segment count", 2, m.lim.DataSegments)
	m.datas = make([]dataSegment, 0, n)
	for range n {
		m.datas = append(m.datas, m.dataSegment(s))
	}
}

func (m *module) dataSegment(s *reader) dataSegment {
	var d dataSegment
	d.start = s.pos
	flags := s.u32("data segment flags")
	switch flags {
	case 0, 2:
		if flags == 2 {
			if at := s.pos; s.u32("memory index") != 0 {
				fail(at, "a second memory belongs to multi-memory, which isn't supported")
			}
		}
		if len(m.mems) == 0 {
			fail(d.start, "data segment: the module has no memory")
		}
		d.offset = m.constExpr(s, I32)
	case 1:
		d.mode = segPassive
	default:
		fail(d.start, "data segment: got flags %d, want 0 to 2", flags)
	}
	n := s.u32("data size")
	s.window(n, "data segment")
	d.size, d.end = int(n), s.pos
	return d
}
