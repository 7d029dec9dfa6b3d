package wasm

import (
	"github.com/tetratelabs/wazero/experimental"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

const pageBytes = 1 << 16

// TableEntryBytes is what one table entry counts for against the memory cap: 8
// bytes for the reference and as many for what growing a table over-allocates.
const TableEntryBytes = 16

// referenceBytes is what the engine keeps for each function reference that is
// made when a module is instantiated. It counts against the cap as well.
const referenceBytes = 48

// memory is one run's linear memory, and the account of memory and tables
// against the run's cap. It is wazero's allocator and memory at once.
type memory struct {
	run     *run
	cap     uint64 // bytes granted
	fixed   uint64 // bytes of references, which stay
	buf     []byte // linear memory as the guest sees it
	backing *backing
	tables  uint64 // entries of all tables
	peak    uint64 // bytes
}

// init makes room for what the module starts with.
func (m *memory) init(r *run, info *rewrite.Info) *RefusedError {
	*m = memory{run: r, cap: r.limits.MemoryBytes, fixed: info.References * referenceBytes, tables: info.TableEntries}
	var minBytes, maxBytes uint64
	if mem := info.Memory; mem != nil {
		minBytes, maxBytes = uint64(mem.MinPages)*pageBytes, uint64(mem.MaxPages)*pageBytes
	}
	need := m.total(minBytes, m.tables)
	if need > m.cap {
		return m.tooSmall(need, "a memory of %d bytes, %d table entries and %d references need %d bytes to start with, got memory_bytes %d: grant at least %d",
			minBytes, m.tables, info.References, need, m.cap, need)
	}
	m.peak = need
	if info.Memory == nil {
		return nil
	}
	var err error
	if m.backing, err = newBacking(min(maxBytes, m.cap)); err != nil {
		return m.tooSmall(need, "this host can't reserve %d bytes of address space: %v", min(maxBytes, m.cap), err)
	}
	if m.buf = m.backing.resize(minBytes); m.buf == nil {
		return m.tooSmall(need, "this host can't set aside %d bytes", need)
	}
	return nil
}

func (m *memory) tooSmall(need uint64, format string, args ...any) *RefusedError {
	e := refuse(RefusedMemory, format, args...)
	e.Needed, e.Granted = need, m.cap
	return e
}

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate implements experimental.LinearMemory. The guest's request was
// admitted before it came here, so nil is for a host that is out of memory.
func (m *memory) Reallocate(size uint64) []byte {
	if size == uint64(len(m.buf)) {
		return m.buf
	}
	m.admit(size, m.tables)
	buf := m.backing.resize(size)
	if buf != nil {
		m.buf = buf
	}
	return buf
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() {
	if m.backing != nil {
		m.backing.release(len(m.buf))
		m.backing, m.buf = nil, nil
	}
}

// grow is asked before every memory.grow that the module's own maximum allows.
func (m *memory) grow(pages uint32) {
	m.admit(uint64(len(m.buf))+uint64(pages)*pageBytes, m.tables)
}

// growTable is asked before every table.grow, likewise.
func (m *memory) growTable(entries uint32) {
	m.admit(uint64(len(m.buf)), m.tables+uint64(entries))
	m.tables += uint64(entries)
}

// admit ends the run when memory and tables would be larger than the cap (§5.1).
func (m *memory) admit(bytes, tables uint64) {
	total := m.total(bytes, tables)
	if total > m.cap {
		m.run.stop(stop{cause: OutOfMemory})
	}
	m.peak = max(m.peak, total)
}

func (m *memory) total(bytes, tables uint64) uint64 {
	return bytes + tables*TableEntryBytes + m.fixed
}
