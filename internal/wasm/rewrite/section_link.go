package rewrite

import "strings"

// Kind is what an import or export is.
type Kind byte

// The kinds, as their bytes in the binary format.
const (
	FuncKind   Kind = 0
	TableKind  Kind = 1
	MemoryKind Kind = 2
	GlobalKind Kind = 3
)

// String is the kind's name in the text format.
func (k Kind) String() string {
	return [...]string{"func", "table", "memory", "global"}[k&3]
}

// Import is one import. Func is its type if it is a function; the other kinds
// are for the linker to refuse.
type Import struct {
	Module, Name string
	Kind         Kind
	Func         *FuncType
	offset       span
}

// Export is one export. Func is its type if it is a function, and Reference says
// that it is a global that holds a reference.
type Export struct {
	Name      string
	Kind      Kind
	Func      *FuncType
	Reference bool
	index     uint32
}

// reserved is the namespace that the metering lives in.
const reserved = "joulebox."

func (m *module) guestName(at int, what, name string) {
	if !m.internal && strings.HasPrefix(name, reserved) {
		fail(at, "%s %q: names that begin with %q are reserved", what, name, reserved)
	}
}

func (m *module) importSection(s *reader) {
	n := s.count("import count", 4, m.lim.Imports)
	for range n {
		m.importItem(s)
	}
	m.importedFuncs, m.importedTables = len(m.funcs), len(m.tables)
	m.importedMems, m.importedGlobals = len(m.mems), len(m.globals)
	m.declared = make([]bool, len(m.funcs))
}

func (m *module) importItem(s *reader) {
	at := s.pos
	i := Import{Module: s.name("import module"), Name: s.name("import name")}
	m.guestName(at, "import module", i.Module)
	m.guestName(at, "import name", i.Name)
	kindAt := s.pos
	switch i.Kind = Kind(s.byte("import kind")); i.Kind {
	case FuncKind:
		f := m.typeIndex(s)
		i.Func = &m.types[f]
		m.funcs = append(m.funcs, f)
	case TableKind:
		m.tables = append(m.tables, m.tableType(s))
	case MemoryKind:
		m.addMemory(kindAt, s)
	case GlobalKind:
		m.globals = append(m.globals, m.globalType(s))
	case 4:
		fail(kindAt, "an imported tag belongs to exceptions, which aren't supported")
	default:
		fail(kindAt, "import kind: got 0x%x, want 0 to 3", byte(i.Kind))
	}
	i.offset = span{at, s.pos}
	m.imports = append(m.imports, i)
}

func (m *module) exportSection(s *reader) {
	n := s.count("export count", 3, m.lim.Exports)
	seen := make(map[string]bool, n)
	for range n {
		at := s.pos
		e := Export{Name: s.name("export name")}
		m.guestName(at, "export", e.Name)
		if seen[e.Name] {
			fail(at, "export %q comes twice", e.Name)
		}
		seen[e.Name] = true
		kindAt := s.pos
		e.Kind = Kind(s.byte("export kind"))
		if e.Kind > GlobalKind {
			fail(kindAt, "export kind: got 0x%x, want 0 to 3", byte(e.Kind))
		}
		e.index = s.u32("export index")
		m.checkExport(kindAt, &e)
		m.exports = append(m.exports, e)
	}
}

func (m *module) checkExport(at int, e *Export) {
	have := [...]int{len(m.funcs), len(m.tables), len(m.mems), len(m.globals)}[e.Kind]
	if int64(e.index) >= int64(have) {
		fail(at, "export %q: %s %d is unknown, the module has %d", e.Name, e.Kind, e.index, have)
	}
	switch e.Kind {
	case FuncKind:
		e.Func = m.funcType(e.index)
		m.declared[e.index] = true
	case GlobalKind:
		e.Reference = m.globals[e.index].typ.isRef()
	}
}
