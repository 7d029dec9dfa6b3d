package rewrite

// module is a decoded module. Function bodies stay where they are in b; only
// their places are kept.
type module struct {
	b   []byte
	lim Limits

	types   []FuncType
	imports []Import
	funcs   []uint32 // type of each function, imported ones first
	tables  []tableType
	mems    []memType
	globals []globalType
	exports []Export
	start   int // function, or -1
	elems   []elemSegment
	datas   []dataSegment
	bodies  []body

	importedFuncs, importedTables, importedMems, importedGlobals int

	dataCount int    // what the data count section says, or -1
	declared  []bool // functions that ref.func may name, by index

	tableEntries uint64                 // of all tables at the start
	elemItems    int                    // items over all element segments
	sections     [secDataCount + 1]span // contents of the sections, custom ones left out
	names        span                   // the "name" custom section's contents
	usesV128     bool

	internal bool // names of the metering namespace are admitted
}

// span is a byte range of the module.
type span struct{ start, end int }

type tableType struct {
	elem     ValType
	min, max uint32
	hasMax   bool
}

type memType struct {
	min, max uint32 // pages
	hasMax   bool
}

type globalType struct {
	typ     ValType
	mutable bool
	init    constExpr // zero for imported ones
}

// constExpr is a constant expression: one constant instruction and an end.
type constExpr struct {
	span
	op  opcode
	val uint64 // an integer constant's bits, or the index of the global or function
}

const (
	segActive = iota
	segPassive
	segDeclared
)

type elemSegment struct {
	mode   uint8
	typ    ValType
	table  uint32
	offset constExpr
	exprs  bool // items are constant expressions, else function indices
	items  []uint32
}

// An element item is a function's index, or one of these.
const (
	nullItem   = ^uint32(0)
	globalItem = 1 << 31 // plus the index of an imported global
)

type dataSegment struct {
	mode   uint8
	offset constExpr
	size   int
	span
}

// body is one function body: its locals and its code, the end included.
type body struct {
	span
	code int // where the instructions begin
}

func (m *module) funcType(f uint32) *FuncType { return &m.types[m.funcs[f]] }

// hiddenGlobals are the module's own mutable globals of numbers that it doesn't
// export, by their indices. A reference is no number: what one is differs from
// instance to instance.
func (m *module) hiddenGlobals() (hidden []int) {
	exported := map[uint32]bool{}
	for _, x := range m.exports {
		if x.Kind == GlobalKind {
			exported[x.index] = true
		}
	}
	for i := m.importedGlobals; i < len(m.globals); i++ {
		if g := m.globals[i]; g.mutable && g.typ != FuncRef && g.typ != ExternRef && !exported[uint32(i)] {
			hidden = append(hidden, i)
		}
	}
	return hidden
}
