package kvm

import (
	"encoding/binary"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// walk is what a processor does with an address: four steps down the tables.
func walk(mem []byte, root, addr uint64) (frame, flags uint64, ok bool) {
	table := root
	flags = pageWrite | pageUser
	for level := 3; level >= 0; level-- {
		e := binary.LittleEndian.Uint64(mem[table-tablesAt+addr>>(12+9*level)%512*8:])
		if e&pagePresent == 0 {
			return 0, 0, false
		}
		flags = flags&e&(pageWrite|pageUser) | (flags|e)&pageNoExec
		if level == 0 || level == 1 && e&pageHuge != 0 {
			size := uint64(1) << (12 + 9*level)
			return e&frameMask&^(size-1) + addr%size, flags, true
		}
		table = e & frameMask
	}
	return 0, 0, false
}

const tablesAt = 0x20_0000

// TestTablesMapWhatIsOpen builds tables for random areas, lets them grow, and asks
// a naive processor about addresses around every border.
func TestTablesMapWhatIsOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := placed{frame: 0x1_0000_0000, hole: 0x4020_0000}
		a.Write = rapid.Bool().Draw(t, "write")
		a.Exec = !a.Write && rapid.Bool().Draw(t, "exec")
		a.At = rapid.Uint64Range(1, 1<<18).Draw(t, "at") * HugeBytes
		a.Size = rapid.Uint64Range(1, 2000).Draw(t, "pages") * PageBytes
		if rapid.Bool().Draw(t, "reaches") {
			a.Reach = (a.Size+HugeBytes-1)&^(HugeBytes-1) + rapid.Uint64Range(0, 600).Draw(t, "behind")*HugeBytes
		}
		a.open = rapid.Uint64Range(0, a.Size/PageBytes).Draw(t, "open") * PageBytes
		mem := make([]byte, pages([]Area{a.Area})*PageBytes)
		tb := newTables(mem, tablesAt)
		tb.place(&a)
		for range rapid.IntRange(0, 4).Draw(t, "times") {
			checkArea(t, mem, &a)
			tb.grow(&a, rapid.Uint64Range(a.open/PageBytes, a.Size/PageBytes).Draw(t, "more")*PageBytes)
		}
		checkArea(t, mem, &a)
		if tb.err != nil {
			t.Fatal(tb.err)
		}
	})
}

func checkArea(t *rapid.T, mem []byte, a *placed) {
	for _, border := range []uint64{0, a.open, a.Size, a.Reach, HugeBytes, a.open &^ (HugeBytes - 1)} {
		for _, off := range []uint64{border - PageBytes, border - 1, border, border + PageBytes} {
			if a.At+off < a.At {
				continue // before the area
			}
			for root := range uint64(roots) {
				frame, flags, ok := walk(mem, tablesAt+root*PageBytes, a.At+off)
				switch {
				case off < a.open:
					if !ok || frame != a.frame+off || flags&pageUser == 0 || flags&pageWrite != 0 != a.Write || flags&pageNoExec == 0 != a.Exec {
						t.Fatalf("offset %#x of %#x open: got frame %#x flags %#x %t", off, a.open, frame, flags, ok)
					}
				case off < a.Reach:
					if !ok || frame&^(HugeBytes-1) != a.hole || flags&pageNoExec == 0 {
						t.Fatalf("offset %#x, %#x open, reach %#x: got frame %#x flags %#x %t, want the hole", off, a.open, a.Reach, frame, flags, ok)
					}
				default:
					if ok {
						t.Fatalf("offset %#x, behind the area: got frame %#x", off, frame)
					}
				}
			}
		}
	}
}

// TestTablesAreNotMapped: no entry that a guest's address ends at leads into the
// tables.
func TestTablesAreNotMapped(t *testing.T) {
	areas := []placed{
		{Area: Area{At: 0, Size: 4 * HugeBytes, Write: true}, frame: areasFrameForTest, open: 4 * HugeBytes},
		{Area: Area{At: 1 << 30, Size: HugeBytes, Reach: 1 << 30, Write: true}, frame: areasFrameForTest + 4*HugeBytes, hole: 0x4020_0000, open: PageBytes},
	}
	mem := make([]byte, 64*PageBytes)
	tb := newTables(mem, tablesAt)
	for i := range areas {
		tb.place(&areas[i])
	}
	leaves := 0
	for addr := uint64(0); addr < 3<<30; addr += PageBytes {
		frame, _, ok := walk(mem, tablesAt, addr)
		if !ok {
			continue
		}
		leaves++
		if frame < tablesAt+uint64(len(mem)) {
			t.Fatalf("address %#x leads to %#x", addr, frame)
		}
	}
	if leaves < 1000 {
		t.Fatalf("%d pages are mapped: the test would prove nothing", leaves)
	}
}

const areasFrameForTest = 0x1_0000_0000

func TestSpecsThatAreRefused(t *testing.T) {
	good := Area{At: HugeBytes, Size: PageBytes, Open: PageBytes}
	for want, s := range map[string]Spec{
		"want 1 to":     {},
		"whole pages":   {Areas: []Area{{At: 1, Size: PageBytes}}},
		"ends past":     {Areas: []Area{{At: 1 << 39, Size: 1 << 40}}},
		"no more":       {Areas: []Area{{At: 0, Size: PageBytes, Open: 2 * PageBytes}}},
		"begins with":   {Areas: []Area{{At: 0, Size: PageBytes, Data: make([]byte, PageBytes+1)}}},
		"one at most":   {Areas: []Area{{At: 0, Size: PageBytes, Write: true, Exec: true}}},
		"on each other": {Areas: []Area{good, good}},
		"doorbell lies": {Areas: []Area{good}, Door: HugeBytes},
		"doorbell at":   {Areas: []Area{good}, Door: 1},
	} {
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := (&Spec{Areas: []Area{good}}).check(); err != nil {
		t.Error(err)
	}
}
