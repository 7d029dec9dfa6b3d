package wasm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/vectors"
)

// TestMaliciousModules hands every hostile module of the public vectors to the
// engine as a stranger would, and runs what it takes. Nothing may crash or hang,
// and what both V8 and WABT call invalid must be refused.
func TestMaliciousModules(t *testing.T) {
	e := newTestEngine(t, inChildUnlessShort)
	for _, group := range []string{"wamr-issues", "wazero-fuzz"} {
		dir := filepath.Join(vectors.Dir(t, "06-wasm"), "malicious", group)
		files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
		if err != nil || len(files) < 40 {
			t.Fatalf("%s: %d modules, %v", group, len(files), err)
		}
		invalid := invalidOnes(t, group)
		ran := 0
		for _, file := range files {
			image, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if attack(t, e, filepath.Base(file), image, invalid[filepath.Base(file)]) {
				ran++
			}
		}
		t.Logf("%s: %d modules, %d of them ran", group, len(files), ran)
		if ran == 0 {
			t.Errorf("%s: none of the modules ran", group)
		}
	}
}

type verdict struct {
	File string `json:"file"`
	V8   *bool  `json:"v8_validates"`
	WABT *bool  `json:"wabt_validates"`
}

func (v verdict) invalid() bool {
	return v.V8 != nil && !*v.V8 && (v.WABT == nil || !*v.WABT)
}

func invalidOnes(t *testing.T, group string) map[string]bool {
	var cases []verdict
	name := filepath.Join("malicious", group, "cases.json")
	if group == "wamr-issues" {
		var file struct {
			About string    `json:"about"`
			Cases []verdict `json:"cases"`
		}
		vectors.Load(t, "06-wasm", name, &file)
		cases = file.Cases
	} else {
		vectors.Load(t, "06-wasm", name, &cases)
	}
	invalid := map[string]bool{}
	for _, c := range cases {
		if c.invalid() {
			invalid[c.File] = true
		}
	}
	return invalid
}

// attack compiles and runs one module, and reports whether it ran.
func attack(t *testing.T, e *Engine, name string, image []byte, invalid bool) bool {
	t.Helper()
	began := time.Now()
	m, err := e.Compile(t.Context(), image, Options{Metered: true})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%s: compiled or refused after %v", name, took)
	}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return false
	case err != nil:
		t.Errorf("%s: %v", name, err)
		return false
	}
	defer m.Close()
	if invalid {
		t.Errorf("%s: is invalid and was taken", name)
	}
	entry := m.entryForTest()
	if entry == "" {
		return false
	}
	exit, err := m.Run(t.Context(), Params{Entry: entry, Limits: Limits{Fuel: 50_000_000, MemoryBytes: 256 << 20, Deadline: time.Now().Add(5 * time.Second)}})
	if err != nil && !errors.As(err, &refused) {
		t.Errorf("%s: run: %v", name, err)
	}
	if exit.WallTime > 10*time.Second {
		t.Errorf("%s: ran for %v", name, exit.WallTime)
	}
	return err == nil
}

// TestCraftedModules holds each of the crafted ones to what its file expects.
func TestCraftedModules(t *testing.T) {
	e := newTestEngine(t, inChildUnlessShort)
	refused := Exit{}
	want := map[string]Exit{
		"run-returns-42.wasm":              {Cause: Returned, Code: 42},
		"run-infinite-recursion.wasm":      {Cause: Trapped, Trap: TrapStack},
		"start-infinite-loop.wasm":         {Cause: OutOfFuel},
		"locals-50000.wasm":                {Cause: Returned, Code: 42},
		"memory-grow-loop.wasm":            {Cause: OutOfMemory}, // the cap ends a run (§5.1)
		"table-min-10000000.wasm":          refused,
		"nested-blocks-20000.wasm":         {Cause: Returned, Code: 42},
		"funcs-50000.wasm":                 {Cause: Returned, Code: 42},
		"run-div-zero.wasm":                {Cause: Trapped, Trap: "integer divide by zero"},
		"run-oob-load.wasm":                {Cause: Trapped, Trap: TrapMemory},
		"run-wrong-signature.wasm":         refused,
		"run-is-memory.wasm":               refused,
		"memory64.wasm":                    refused,
		"component-header.wasm":            refused,
		"wrong-version.wasm":               refused,
		"magic-only.wasm":                  refused,
		"locals-sum-overflow.wasm":         refused,
		"func-count-lie.wasm":              refused,
		"custom-section-1mb-name-lie.wasm": refused,
		"duplicate-export.wasm":            refused,
	}
	dir := filepath.Join(vectors.Dir(t, "06-wasm"), "malicious", "crafted")
	files, _ := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if len(files) != len(want) {
		t.Fatalf("%d modules, want %d", len(files), len(want))
	}
	for _, file := range files {
		name := filepath.Base(file)
		image, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		exit, err := compileAndRun(t, e, image)
		var no *RefusedError
		if want[name].Cause == refused.Cause {
			if !errors.As(err, &no) {
				t.Errorf("%s: got %+v, %v, want a refusal", name, exit, err)
			}
			continue
		}
		if err != nil || exit.Cause != want[name].Cause || exit.Code != want[name].Code || exit.Trap != want[name].Trap {
			t.Errorf("%s: got %+v, %v, want %+v", name, exit, err, want[name])
		}
	}
}

func compileAndRun(t *testing.T, e *Engine, image []byte) (Exit, error) {
	m, err := e.Compile(t.Context(), image, Options{Metered: true})
	if err != nil {
		return Exit{}, err
	}
	defer m.Close()
	return m.Run(t.Context(), Params{Entry: "run", Limits: Limits{Fuel: 200_000_000, MemoryBytes: 64 << 20, Deadline: time.Now().Add(time.Minute)}})
}

// TestHugeClaims hands over modules of a few bytes that claim billions, and sees
// that nobody believes them: not even this process, which has no limits.
func TestHugeClaims(t *testing.T) {
	e := newTestEngine(t)
	huge := uleb(1<<32 - 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for id := byte(1); id <= 12; id++ {
		for _, body := range [][]byte{huge, cat(uleb(1), huge), cat(uleb(1), []byte{0x60}, huge), cat(uleb(1), []byte{0x70, 0}, huge), cat(uleb(1), []byte{0}, huge)} {
			image := cat([]byte("\x00asm\x01\x00\x00\x00"), []byte{id}, uleb(uint64(len(body))), body)
			_, err := e.Compile(t.Context(), image, Options{Metered: true})
			var refused *RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Errorf("section %d, % x: %v", id, body, err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
}

// TestManyLongTypes is valid by the letter: wazero spells out each type in time
// that grows with the square of its length, here and not only in the child.
func TestManyLongTypes(t *testing.T) {
	a := &asm{}
	for i := range 10_000 {
		params := bytes.Repeat([]byte{tI32}, 999)
		for bit := range 16 {
			if i>>bit&1 == 1 {
				params[bit] = tI64
			}
		}
		a.typ(params, nil)
	}
	a.fn("run", nil, toI32, 0, i32Const(1))
	_, err := newTestEngine(t).Compile(t.Context(), a.bytes(), Options{Metered: true})
	wantRefused(t, err, RefusedLimit, "parameters and results in all")
}
