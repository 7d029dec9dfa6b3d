package wasm

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox"
)

func TestMain(m *testing.M) {
	MaybeRunChild()
	os.Exit(m.Run())
}

// hostFuncs are what the tests' guests may import.
var hostFuncs = []HostFunc{
	{Module: "test", Name: "nop", Fn: func(context.Context, *Call, []uint64) {}},
	{Module: "test", Name: "exit", Params: []api.ValueType{i32}, Fn: func(_ context.Context, c *Call, s []uint64) { c.Exit(uint32(s[0])) }},
	{Module: "test", Name: "charge", Params: []api.ValueType{i64}, Fn: func(_ context.Context, c *Call, s []uint64) { c.Charge(s[0]) }},
	{Module: "test", Name: "block", Fn: func(ctx context.Context, _ *Call, _ []uint64) { <-ctx.Done() }},
	{Module: "test", Name: "sleep", Params: []api.ValueType{i32}, Fn: func(_ context.Context, _ *Call, s []uint64) {
		time.Sleep(time.Duration(min(s[0], 200)) * time.Millisecond)
	}},
	{Module: "test", Name: "panic", Fn: func(context.Context, *Call, []uint64) { panic("a host function broke") }},
	{Module: "test", Name: "nilderef", Fn: func(_ context.Context, c *Call, _ []uint64) { _ = *(*int)(nil) }},
	{Module: "test", Name: "swallow", Params: []api.ValueType{i32}, Fn: func(_ context.Context, c *Call, s []uint64) {
		defer func() { _ = recover() }()
		c.Exit(uint32(s[0]))
	}},
	{Module: "test", Name: "note", Params: []api.ValueType{i32}, Fn: func(_ context.Context, c *Call, s []uint64) {
		l := c.State.(*[]uint32)
		*l = append(*l, uint32(s[0]))
	}},
	{Module: "test", Name: "count", Results: []api.ValueType{i64}, Fn: func(_ context.Context, c *Call, s []uint64) { s[0] = c.Instructions() }},
	{Module: "test", Name: "half", Params: []api.ValueType{i32}, Results: []api.ValueType{i32}, Fn: func(_ context.Context, _ *Call, s []uint64) { s[0] >>= 32 }},
	{Module: "test", Name: "peek", Params: []api.ValueType{i32}, Results: []api.ValueType{i32}, Fn: func(_ context.Context, c *Call, s []uint64) {
		s[0] = uint64(c.Memory()[s[0]])
	}},
}

var testNop = func(a *asm) int { return a.imp("test", "nop", nil, nil) }

// newTestEngine compiles in this process, which is quicker; the child has tests
// of its own.
func newTestEngine(t testing.TB, change ...func(*Config)) *Engine {
	t.Helper()
	c := Config{HostFuncs: hostFuncs, CacheDir: t.TempDir(), InProcess: true}
	for _, f := range change {
		f(&c)
	}
	e, err := NewEngine(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func compile(t testing.TB, e *Engine, image []byte) *Module {
	t.Helper()
	m, err := e.Compile(t.Context(), image, Options{Metered: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// enough are limits that nothing in these tests reaches by accident.
func enough() Limits {
	return Limits{Fuel: 1 << 40, MemoryBytes: 64 << 20, Deadline: time.Now().Add(time.Minute)}
}

func mustRun(t testing.TB, m *Module, p Params) Exit {
	t.Helper()
	if p.Limits == (Limits{}) {
		p.Limits = enough()
	}
	exit, err := m.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func wantRefused(t testing.TB, err error, reason Refusal, text string) {
	t.Helper()
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Reason != reason || !strings.Contains(err.Error(), text) {
		t.Fatalf("got %v, want a refusal %q with %q", err, reason, text)
	}
}

func sumOf(image []byte) joulebox.ID { return joulebox.Sum(image) }
