package wasm

import (
	"errors"
	"strings"
	"testing"
)

func TestImportsAreChecked(t *testing.T) {
	e := newTestEngine(t)
	for _, tt := range []struct {
		name  string
		build func(a *asm)
		text  string
	}{
		{"unknown module", func(a *asm) { a.imp("env", "f", nil, nil) }, `"env" "f": no such module; this host has modules test`},
		{"unknown function", func(a *asm) { a.imp("test", "f", nil, nil) }, `"test" "f": no such function; this host has in "test": block charge count exit`},
		{"wrong type", func(a *asm) { a.imp("test", "exit", nil, toI32) }, `"test" "exit": got type () -> (i32), want (i32) -> ()`},
		{"memory", func(a *asm) {
			a.imports = append(a.imports, cat(str("test"), str("m"), op(kMem, 0, 1)))
		}, `"test" "m": a memory can't be imported`},
		{"table", func(a *asm) {
			a.imports = append(a.imports, cat(str("test"), str("t"), op(kTable, tFunc, 0, 1)))
		}, `a table can't be imported`},
		{"global", func(a *asm) {
			a.imports = append(a.imports, cat(str("test"), str("g"), op(kGlobal, tI32, 0)))
		}, `a global can't be imported`},
		{"many", func(a *asm) {
			for range 20 {
				a.imp("env", "f", nil, nil)
			}
		}, `and 12 more`},
		{"the meter", func(a *asm) { a.imp(meterModule, "tick", []byte{tI64}, []byte{tI64}) }, `joulebox.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &asm{}
			tt.build(a)
			a.fn("run", nil, toI32, 0, i32Const(0))
			_, err := e.Compile(t.Context(), a.bytes(), Options{Metered: true})
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want a refusal with %q", err, tt.text)
			}
		})
	}
}

func TestOneImportTwice(t *testing.T) {
	a := &asm{}
	f, g := a.imp("test", "note", toI32, nil), a.imp("test", "note", toI32, nil)
	a.fn("run", nil, toI32, 0, i32Const(1), call(f), i32Const(2), call(g), i32Const(0))
	var notes []uint32
	mustRun(t, compile(t, newTestEngine(t), a.bytes()), Params{State: &notes})
	if len(notes) != 2 || notes[0] != 1 || notes[1] != 2 {
		t.Errorf("noted %v, want [1 2]", notes)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := hostFuncs[0]
	own := good
	own.Module = meterModule
	for name, funcs := range map[string][]HostFunc{"twice": {good, good}, "nameless": {{Module: "m", Fn: good.Fn}}, "no function": {{Module: "m", Name: "f"}}, "the meter's": {own}} {
		if _, err := NewEngine(Config{HostFuncs: funcs, CacheDir: t.TempDir(), InProcess: true}); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	childHook = false
	defer func() { childHook = true }()
	if _, err := NewEngine(Config{CacheDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "MaybeRunChild") {
		t.Errorf("without MaybeRunChild: got %v, want an error that names it", err)
	}
}
