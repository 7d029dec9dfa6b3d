package kvm

import (
	"encoding/binary"
	"fmt"
)

// Bits of a page table entry. Accessed and dirty are set from the first, so the
// processor has nothing to note down.
const (
	pagePresent  = 1 << 0
	pageWrite    = 1 << 1
	pageUser     = 1 << 2
	pageAccessed = 1 << 5
	pageDirty    = 1 << 6
	pageHuge     = 1 << 7
	pageNoExec   = 1 << 63

	pageInner = pagePresent | pageWrite | pageUser | pageAccessed
	pageLeaf  = pagePresent | pageUser | pageAccessed | pageDirty

	entries   = PageBytes / 8
	frameMask = 1<<52 - PageBytes
)

// tables are a machine's page tables: pages in a range of guest-physical memory of
// their own, which nothing in them maps. So the guest can't name them.
//
// There are two roots with the same entries. Going from one to the other makes the
// processor forget what it knew of the tables before.
type tables struct {
	mem  []byte // of the range
	at   uint64 // its guest-physical address
	used int    // pages
	err  error  // the first that went wrong
}

const roots = 2

func newTables(mem []byte, at uint64) *tables { return &tables{mem: mem, at: at, used: roots} }

func (t *tables) root(which int) uint64 { return t.at + uint64(which)*PageBytes }

// page takes a page for a table.
func (t *tables) page() int {
	if (t.used+1)*PageBytes > len(t.mem) {
		if t.err == nil {
			t.err = fmt.Errorf("BUG(joulebox): the page tables need more than %d pages", t.used)
		}
		return t.used - 1
	}
	t.used++
	return t.used - 1
}

func (t *tables) entry(page, i int) []byte { return t.mem[page*PageBytes+i*8:][:8] }

func (t *tables) get(page, i int) uint64    { return binary.LittleEndian.Uint64(t.entry(page, i)) }
func (t *tables) set(page, i int, v uint64) { binary.LittleEndian.PutUint64(t.entry(page, i), v) }

func (t *tables) frame(page int) uint64 { return t.at + uint64(page)*PageBytes }

func (t *tables) pageOf(entry uint64) int { return int((entry&frameMask - t.at) / PageBytes) }

func index(addr uint64, level int) int { return int(addr>>(12+9*level)) % entries }

// below is the table that an entry leads to, made if there is none. Where the entry
// is a large page, a table takes its place.
func (t *tables) below(page, i int) int {
	if e := t.get(page, i); e&pagePresent != 0 && e&pageHuge == 0 {
		return t.pageOf(e)
	}
	child := t.page()
	t.set(page, i, t.frame(child)|pageInner)
	return child
}

// directory is the table of large pages for an address.
func (t *tables) directory(addr uint64) int {
	top := index(addr, 3)
	third := t.below(0, top)
	for r := 1; r < roots; r++ {
		t.set(r, top, t.get(0, top))
	}
	return t.below(third, index(addr, 2))
}

// small maps a page, and huge one of HugeBytes.
func (t *tables) small(addr, frame, flags uint64) {
	t.set(t.below(t.directory(addr), index(addr, 1)), index(addr, 0), frame|flags)
}

func (t *tables) huge(addr, frame, flags uint64) {
	t.set(t.directory(addr), index(addr, 1), frame|flags|pageHuge)
}

// placed is an area with what lies behind it.
type placed struct {
	Area
	mem   []byte
	frame uint64 // guest-physical address of mem, a multiple of HugeBytes
	hole  uint64 // of HugeBytes with nothing behind, which its closed addresses lead to
	open  uint64 // bytes
	tail  int    // the table of the large page that is partly open
}

func (p *placed) flags() uint64 {
	f := uint64(pageLeaf)
	if p.Write {
		f |= pageWrite
	}
	if !p.Exec {
		f |= pageNoExec
	}
	return f
}

// holeFlags let a write reach the hole too: it must come to the host as such.
const holeFlags = pageLeaf | pageWrite | pageNoExec

// place maps an area for the first time.
func (t *tables) place(p *placed) {
	if p.Reach == 0 {
		for off := uint64(0); off < p.open; off += PageBytes {
			t.small(p.At+off, p.frame+off, p.flags())
		}
		return
	}
	t.fit(p, 0, p.Reach)
}

// grow maps more of an area.
func (t *tables) grow(p *placed, open uint64) {
	from := p.open
	p.open = open
	if p.Reach == 0 {
		for off := from; off < open; off += PageBytes {
			t.small(p.At+off, p.frame+off, p.flags())
		}
		return
	}
	t.fit(p, from&^(HugeBytes-1), (open+HugeBytes-1)&^(HugeBytes-1))
}

// fit maps the large pages of an area from one offset to another: to memory where
// all of one is open, to the hole where nothing is, and page by page in between.
func (t *tables) fit(p *placed, from, to uint64) {
	for off := from; off < to && t.err == nil; off += HugeBytes {
		switch {
		case off+HugeBytes <= p.open:
			t.huge(p.At+off, p.frame+off, p.flags())
		case off >= p.open:
			t.huge(p.At+off, p.hole, holeFlags)
		default:
			t.partly(p, off)
		}
	}
}

// partly maps the large page in which an area's open part ends. An area has one
// table for it: what the processor knew of it before is forgotten with the root.
func (t *tables) partly(p *placed, off uint64) {
	if p.tail == 0 {
		p.tail = t.page()
	}
	t.set(t.directory(p.At+off), index(p.At+off, 1), t.frame(p.tail)|pageInner)
	for i := range entries {
		in := uint64(i) * PageBytes
		if off+in < p.open {
			t.set(p.tail, i, p.frame+off+in|p.flags())
		} else {
			t.set(p.tail, i, p.hole+in|holeFlags)
		}
	}
}

// pages is a bound on the pages of tables that areas need.
func pages(areas []Area) int {
	n := roots + 4 // and those of the doorbell
	for _, a := range areas {
		reach := max(a.Size, a.Reach)
		n += 4 + int(reach>>30) + 2 // directories, and what is above them
		if a.Reach == 0 {
			n += int(reach/HugeBytes) + 2
		} else {
			n++ // the large page that is partly open
		}
	}
	return n
}
