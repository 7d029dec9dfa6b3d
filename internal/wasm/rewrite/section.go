package rewrite

// The section ids, and the order that they must come in.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secTag       = 13
)

var sectionOrder = [...]int{secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6, secExport: 7, secStart: 8, secElement: 9, secDataCount: 10, secCode: 11, secData: 12}

var sectionNames = [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count"}

// decode reads and checks the whole module; onBody, when not nil, is handed
// each validated function body in order.
func (m *module) decode(onBody func(f uint32, c *code)) {
	r := &reader{b: m.b, end: len(m.b)}
	m.header(r)
	last := 0
	for r.left() > 0 {
		at := r.pos
		id := int(r.byte("section id"))
		switch {
		case id == secTag:
			fail(at, "a tag section belongs to exceptions, which aren't supported")
		case id > secDataCount:
			fail(at, "section id %d is unknown", id)
		}
		s := r.window(r.u32("section size"), sectionNames[id]+" section")
		if id == secCustom {
			m.custom(&s)
			continue
		}
		if sectionOrder[id] <= last {
			fail(at, "%s section is out of order or comes twice", sectionNames[id])
		}
		last = sectionOrder[id]
		m.sections[id] = span{s.pos, s.end}
		m.section(id, &s, onBody)
		if s.left() != 0 {
			fail(s.pos, "%s section: %d bytes are left after its last item", sectionNames[id], s.left())
		}
	}
	m.finish(r.pos)
}

func (m *module) header(r *reader) {
	if r.left() > m.lim.ModuleBytes {
		failLimit(0, "module is %d bytes, want at most %d", r.left(), m.lim.ModuleBytes)
	}
	if r.left() < 8 {
		fail(0, "module is %d bytes, want at least the 8 of its header", r.left())
	}
	if string(r.b[:4]) != "\x00asm" {
		fail(0, "got magic %q, want %q", r.b[:4], "\x00asm")
	}
	switch string(r.b[4:8]) {
	case "\x01\x00\x00\x00":
	case "\x0d\x00\x01\x00", "\x0c\x00\x01\x00", "\x0b\x00\x01\x00", "\x0a\x00\x01\x00":
		fail(4, "this is a component; want a core module")
	default:
		fail(4, "got version %x, want 01000000", r.b[4:8])
	}
	r.pos = 8
}

func (m *module) section(id int, s *reader, onBody func(uint32, *code)) {
	switch id {
	case secType:
		m.typeSection(s)
	case secImport:
		m.importSection(s)
	case secFunction:
		m.functionSection(s)
	case secTable:
		m.tableSection(s)
	case secMemory:
		m.memorySection(s)
	case secGlobal:
		m.globalSection(s)
	case secExport:
		m.exportSection(s)
	case secStart:
		m.startSection(s)
	case secElement:
		m.elementSection(s)
	case secDataCount:
		m.dataCount = s.count("data count", 0, m.lim.DataSegments)
	case secCode:
		m.codeSection(s, onBody)
	case secData:
		m.dataSection(s)
	}
}

// custom sections are skipped, but for the names, which trap messages use.
func (m *module) custom(s *reader) {
	if s.name("custom section name") == "name" {
		m.names = span{s.pos, s.end}
	}
}

// finish checks what only the whole module shows.
func (m *module) finish(end int) {
	if want := len(m.funcs) - m.importedFuncs; len(m.bodies) != want {
		fail(end, "got %d function bodies, want %d as the function section says", len(m.bodies), want)
	}
	if m.dataCount >= 0 && len(m.datas) != m.dataCount {
		fail(end, "got %d data segments, want %d as the data count section says", len(m.datas), m.dataCount)
	}
}
