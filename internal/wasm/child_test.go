package wasm

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

func inChild(c *Config) { c.InProcess = false }

// inChildUnlessShort saves the race detector a slow start for every module.
func inChildUnlessShort(c *Config) { c.InProcess = testing.Short() }

func TestChildCompiles(t *testing.T) {
	e := newTestEngine(t, inChild)
	if exit := mustRun(t, compile(t, e, returns(42)), Params{}); exit.Code != 42 {
		t.Errorf("got %+v", exit)
	}
	left, err := os.ReadDir(e.disk.path("work"))
	if err != nil || len(left) != 0 {
		t.Errorf("work directories: got %v, %v, want none", left, err)
	}
}

func TestChildRefuses(t *testing.T) {
	e := newTestEngine(t, inChild)
	_, err := e.Compile(t.Context(), []byte("\x00asm\x01\x00\x00\x00\x01\x05\xff\xff\xff\xff\x0f"), Options{Metered: true})
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Reason != RefusedInvalid || refused.Offset < 8 {
		t.Errorf("got %v, want an invalid module with its offset", err)
	}
}

// slow is valid and small, and takes a compiler long: many functions with many
// values alive at once.
func slow(functions, values int) []byte {
	a := &asm{}
	a.memory(1)
	var body [][]byte
	for i := range values {
		body = append(body, i32Const(int32(i)), op(0x28, 2, 0))
	}
	for range values - 1 {
		body = append(body, i32Add)
	}
	for range functions {
		a.fn("", nil, toI32, 0, body...)
	}
	a.fn("run", nil, toI32, 0, i32Const(1))
	return a.bytes()
}

func TestChildTimeLimit(t *testing.T) {
	e := newTestEngine(t, inChild, func(c *Config) { c.Compile.Time = 300 * time.Millisecond })
	began := time.Now()
	_, err := e.Compile(t.Context(), slow(2000, 1000), Options{Metered: true})
	wantRefused(t, err, RefusedCompileTime, "longer than 300ms")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("refused after %v", took)
	}
}

func TestChildCPULimit(t *testing.T) {
	e := newTestEngine(t, inChild, func(c *Config) { c.Compile.CPU = time.Second })
	_, err := e.Compile(t.Context(), slow(4000, 1000), Options{Metered: true})
	wantRefused(t, err, RefusedCompileTime, "CPU time")
}

func TestChildMemoryLimit(t *testing.T) {
	e := newTestEngine(t, inChild, func(c *Config) { c.Compile.MemoryBytes = 32 << 20 })
	_, err := e.Compile(t.Context(), slow(4000, 1000), Options{Metered: true})
	wantRefused(t, err, RefusedCompileMemory, "33554432 bytes")
}

func TestChildEndsWithItsCaller(t *testing.T) {
	e := newTestEngine(t, inChild)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	_, err := e.Compile(ctx, slow(2000, 1000), Options{Metered: true})
	if !errors.Is(err, context.Canceled) || time.Since(began) > 3*time.Second {
		t.Errorf("got %v after %v, want context.Canceled soon", err, time.Since(began))
	}
}
