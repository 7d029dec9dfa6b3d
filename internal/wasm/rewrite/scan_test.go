package rewrite

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const header = "\x00asm\x01\x00\x00\x00"

// section is one section in binary form, for modules written by hand.
func section(id byte, content string) string {
	var e enc
	e.section(id, []byte(content))
	return string(e.b)
}

// oneFunc is a module of one function () -> () with the given code.
func oneFunc(code string) string {
	body := "\x00" + code
	return header + section(secType, "\x01\x60\x00\x00") + section(secFunction, "\x01\x00") + section(secCode, "\x01"+string(rune(len(body)))+body)
}

// TestRefusals: an error names the byte and says what is the matter.
func TestRefusals(t *testing.T) {
	cases := []struct {
		module string
		offset int
		says   string
	}{
		{"", 0, "want at least the 8 of its header"},
		{"\x00asm\x0d\x00\x01\x00", 4, "component"},
		{"\x00asm\x02\x00\x00\x00", 4, "version"},
		{"\x7fELF\x01\x00\x00\x00", 0, "magic"},
		{header + section(secTag, "\x00"), 8, "exceptions"},
		{header + "\x0e\x00", 8, "unknown"},
		{header + section(secFunction, "\x00") + section(secType, "\x00"), 11, "out of order"},
		{header + section(secMemory, "\x01\x03\x01\x02"), 11, "threads"},
		{header + section(secMemory, "\x01\x04\x01"), 11, "memory64"},
		{header + section(secMemory, "\x02\x00\x01\x00\x01"), 10, "multi-memory"},
		{header + section(secMemory, "\x01\x01\x05\x04"), 11, "minimum <= maximum"},
		{header + section(secMemory, "\x01\x00\x81\x80\x04"), 11, "65536"},
		{header + section(secTable, "\x01\x40\x00\x70\x00\x00\xd0\x70\x0b"), 11, "typed references"},
		{header + section(secType, "\x01\x5f\x00\x00"), 11, "gc"},
		{header + section(secType, "\xff\xff\xff\xff\x0f\x60"), 10, "only 1 bytes are left"},
		{header + section(secType, "\x80\x80\x80\x80\x80\x00"), 10, "more than 32 bits"},
		{header + section(secCustom, "\x04na"), 11, "at most the 2"},
		{header + section(secCustom, "\x02\xff\xfe"), 10, "utf-8"},
		{header + section(secExport, "\x01\x0ejoulebox.start\x00\x00"), 11, "reserved"},
		{header + section(secType, "\x01\x60\x00\x00") + section(secImport, "\x01\x0ejoulebox.meter\x01x\x00\x00"), 17, "reserved"},
		{oneFunc("\x12\x00\x0b"), 23, "tail calls"},
		{oneFunc("\xfe\x03\x00\x0b"), 23, "threads"},
		{oneFunc("\x06\x40\x0b\x0b"), 23, "exceptions"},
		{oneFunc("\xfb\x00\x0b"), 23, "gc"},
		{oneFunc("\xfd\x80\x02\x0b"), 23, "relaxed simd"},
		{oneFunc("\xfd\xec\x00\x0b"), 23, "shortest form"},
		{oneFunc("\x27\x0b"), 23, "unknown"},
		{oneFunc("\x6a\x0b"), 23, "i32.add: want a i32"},
		{oneFunc("\x41\x00\x0b"), 25, "1 values are left"},
		{oneFunc("\x41\x00\x42\x00\x6a\x1a\x0b"), 27, "i32.add: got a i64, want a i32"},
		{oneFunc("\x0c\x01\x0b"), 23, "label 1 is unknown"},
		{oneFunc("\x41\x00\x28\x02\x00\x1a\x0b"), 25, "no memory"},
		{oneFunc("\x02\x40\x0b"), 26, "ends here"},
		{oneFunc("\x0b\x0b"), 24, "left after its end"},
	}
	for _, c := range cases {
		_, err := Scan([]byte(c.module), DefaultLimits())
		var e *Error
		if !errors.As(err, &e) || e.Offset != c.offset || !strings.Contains(e.Msg, c.says) {
			t.Errorf("%q: got %v, want byte 0x%x and %q", c.module, err, c.offset, c.says)
		}
	}
}

// TestInfo: what a host wants to know before it links.
func TestInfo(t *testing.T) {
	info := must(Scan(guest(t, "bulk"), DefaultLimits()))
	if m := info.Memory; m == nil || m.MinPages != 1 || m.MaxPages != 4 || !m.HasMax || m.Imported {
		t.Errorf("memory: got %+v", m)
	}
	if info.TableEntries != 4 || info.UsesSIMD || info.HasStart || len(info.Exports) != 9 {
		t.Errorf("got %+v", info)
	}
	info = must(Scan(guest(t, "host"), DefaultLimits()))
	if len(info.Imports) != 2 || info.Imports[0].Name != "seen" || info.Imports[0].Func.String() != "(i32) -> (i32)" {
		t.Errorf("imports: got %+v", info.Imports)
	}
	if !must(Scan(guest(t, "start"), DefaultLimits())).HasStart || !must(Scan(guest(t, "lanes"), DefaultLimits())).UsesSIMD {
		t.Error("a start section or vectors weren't seen")
	}
}

// TestTrapsAtStart: segments out of bounds are found, and only those.
func TestTrapsAtStart(t *testing.T) {
	table := func(offset string) string {
		return header + section(secTable, "\x01\x70\x00\x02") + section(secElement, "\x01\x04\x41"+offset+"\x0b\x02\xd0\x70\x0b\xd0\x70\x0b")
	}
	data := func(offset string) string {
		return header + section(secMemory, "\x01\x00\x01") + section(secData, "\x01\x00\x41"+offset+"\x0b\x02ab")
	}
	for _, c := range []struct{ module, want string }{
		{table("\x00"), ""},
		{table("\x01"), "out of bounds table access"},
		{table("\x7f"), "out of bounds table access"},
		{data("\xfe\xff\x03"), ""},
		{data("\xff\xff\x03"), "out of bounds memory access"},
		{header, ""},
	} {
		info, err := Scan([]byte(c.module), DefaultLimits())
		if err != nil {
			t.Errorf("%q: %v", c.module, err)
		} else if got := info.TrapsAtStart; (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.module, got, c.want)
		}
	}
}

// TestLimits: each limit refuses one more than it admits.
func TestLimits(t *testing.T) {
	b := guest(t, "recur")
	for name, set := range map[string]func(*Limits, int){
		"module":    func(l *Limits, k int) { l.ModuleBytes = len(b) - 1 + k },
		"types":     func(l *Limits, k int) { l.Types = 0 + k },
		"params":    func(l *Limits, k int) { l.Params = 0 + k },
		"results":   func(l *Limits, k int) { l.Results = 0 + k },
		"functions": func(l *Limits, k int) { l.Functions = 6 + k },
		"tables":    func(l *Limits, k int) { l.Tables = 0 + k },
		"entries":   func(l *Limits, k int) { l.TableEntries = 0 + k },
		"exports":   func(l *Limits, k int) { l.Exports = 3 + k },
		"elements":  func(l *Limits, k int) { l.ElementSegments = 0 + k },
		"locals":    func(l *Limits, k int) { l.Locals = 0 + k },
		"nesting":   func(l *Limits, k int) { l.Nesting = 0 + k },
	} {
		for k := range 2 {
			lim := DefaultLimits()
			set(&lim, k)
			if _, err := Scan(b, lim); (err == nil) != (k == 1) {
				t.Errorf("%s, %d more: got %v", name, k, err)
			}
		}
	}
}

// TestBounded: modules that claim much or nest deep cost no more than their bytes.
func TestBounded(t *testing.T) {
	deep := strings.Repeat("\x02\x40", 1<<19) + strings.Repeat("\x0b", 1<<19+1)
	wide := strings.Repeat("\x41\x00", 1<<19) + "\x00\x0b"
	for name, module := range map[string][]byte{
		"functions": []byte(header + section(secType, "\x01\x60\x00\x00") + section(secFunction, "\xff\xff\xff\xff\x0f")),
		"elements":  []byte(header + section(secElement, "\xf0\xff\xff\xff\x0f\x01")),
		"locals":    []byte(oneFunc("\x0b")[:18] + section(secCode, "\x01\x08\x01\xff\xff\xff\xff\x0f\x7f\x0b")),
		"deep":      bodyOf(deep),
		"wide":      bodyOf(wide),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		Scan(module, DefaultLimits())
		d := time.Since(begin)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(1<<20+200*len(module)) || d > 3*time.Second {
			t.Errorf("%s: %d bytes took %v and %d bytes of memory", name, len(module), d, got)
		}
	}
}

func bodyOf(code string) []byte {
	var body, sec enc
	body.raw(0)
	body.bytes([]byte(code))
	sec.u32(1)
	sec.u32(uint32(len(body.b)))
	sec.bytes(body.b)
	return []byte(header + section(secType, "\x01\x60\x00\x00") + section(secFunction, "\x01\x00") + section(secCode, string(sec.b)))
}

// TestNames: functions keep their names under their new indices, so that a trap
// still says where.
func TestNames(t *testing.T) {
	in := launch(t, "recur", metered)
	setStack(in.mod, 100)
	if r := in.call("self", 1000); !strings.Contains(r.err.Error(), "$self") && !strings.Contains(r.err.Error(), ".self(") {
		t.Errorf("the trace doesn't name the function: %v", r.err)
	}
	// A name section that isn't well-formed is dropped, not refused.
	b := slices.Concat(guest(t, "start"), []byte("\x00\x06\x04name\xff"))
	if out := meter(t, b, false); bytes.Contains(out, []byte("name")) {
		t.Error("a broken name section was kept")
	}
}
