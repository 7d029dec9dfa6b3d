package rewrite

import "fmt"

// Info is what a host needs to know of a module before it links and runs it.
type Info struct {
	Imports      []Import
	Exports      []Export
	UsesSIMD     bool        // any v128 type or instruction
	Memory       *MemoryInfo // nil if the module has none
	TableEntries uint64      // entries of all tables at the start, 8 bytes each
	References   uint64      // to functions, that instantiating makes: of element segments and globals
	HasStart     bool
	Hidden       []int // globals that Meter exports as HiddenGlobal
	Functions    int   // with imported ones
	CodeBytes    int

	// TrapsAtStart is why instantiation must trap: the first active segment
	// that doesn't fit. Empty if all of them do.
	TrapsAtStart string

	// StaticStackWords is the stack allowance, in words, that the longest chain
	// of calls outside of any recursion may need; Meter fills it in.
	StaticStackWords uint64
}

// MemoryInfo is the module's one memory; sizes are pages of 64 KiB.
type MemoryInfo struct {
	MinPages, MaxPages uint32
	HasMax             bool // else MaxPages is 65536
	Imported           bool
}

func (m *module) info() *Info {
	i := &Info{
		Imports: m.imports, Exports: m.exports, UsesSIMD: m.usesV128,
		HasStart: m.start >= 0, Functions: len(m.funcs), TrapsAtStart: m.trapsAtStart(),
		TableEntries: m.tableEntries, References: uint64(m.elemItems), Hidden: m.hiddenGlobals(),
	}
	if len(m.mems) > 0 {
		t := m.mems[0]
		i.Memory = &MemoryInfo{t.min, t.max, t.hasMax, m.importedMems > 0}
	}
	for _, g := range m.globals {
		if g.init.op == opRefFunc && g.init.end > 0 {
			i.References++
		}
	}
	for _, b := range m.bodies {
		i.CodeBytes += b.end - b.start
	}
	return i
}

// trapsAtStart finds the first active segment out of bounds. A segment whose
// place is an imported global's value isn't judged; the linker refuses those.
func (m *module) trapsAtStart() string {
	for k, e := range m.elems {
		if e.mode != segActive || int(e.table) < m.importedTables {
			continue
		}
		if size := m.tables[e.table].min; !fits(e.offset, len(e.items), uint64(size)) {
			return fmt.Sprintf("out of bounds table access: element segment %d puts %d entries at %d, table %d has %d", k, len(e.items), e.offset.val, e.table, size)
		}
	}
	for k, d := range m.datas {
		if d.mode != segActive || m.importedMems > 0 {
			continue
		}
		if size := uint64(m.mems[0].min) << 16; !fits(d.offset, d.size, size) {
			return fmt.Sprintf("out of bounds memory access: data segment %d puts %d bytes at %d, the memory has %d", k, d.size, d.offset.val, size)
		}
	}
	return ""
}

func fits(offset constExpr, n int, size uint64) bool {
	return offset.op != opI32Const || offset.val+uint64(n) <= size
}
