package wasm

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// bare is a module in wazero alone: what the engine is measured against.
type bare struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

func newBare(b testing.TB, image []byte) bare {
	b.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	b.Cleanup(func() { _ = rt.Close(ctx) })
	_, err := rt.NewHostModuleBuilder("test").NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), nil, nil).Export("nop").Instantiate(ctx)
	if err != nil {
		b.Fatal(err)
	}
	compiled, err := rt.CompileModule(ctx, image)
	if err != nil {
		b.Fatal(err)
	}
	return bare{rt, compiled}
}

func (w bare) run(b testing.TB) {
	ctx := b.Context()
	m, err := w.runtime.InstantiateModule(ctx, w.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := m.ExportedFunction("run").Call(ctx); err != nil {
		b.Fatal(err)
	}
	_ = m.Close(ctx)
}

// emptyUnit has what every real program has: a memory.
func emptyUnit() []byte {
	a := &asm{}
	a.memory(2)
	a.fn("run", nil, toI32, 0, i32Const(0))
	return a.bytes()
}

func hostCalls(n int32) []byte {
	a := &asm{}
	f := testNop(a)
	a.memory(1)
	a.fn("run", nil, toI32, 1, countdown(0, n, call(f)), i32Const(0))
	return a.bytes()
}

func computes(n int32) []byte {
	a := &asm{}
	a.fn("run", nil, toI32, 2, countdown(0, n, localGet(1), i32Const(3), op(0x6c), localGet(0), i32Add, localSet(1)), localGet(1))
	return a.bytes()
}

func benchRun(b *testing.B, image []byte, p Params) {
	m := compile(b, newTestEngine(b), image)
	p.Limits = enough()
	for b.Loop() {
		if exit, err := m.Run(context.Background(), p); err != nil || exit.Cause != Returned {
			b.Fatal(exit, err)
		}
	}
}

func benchBare(b *testing.B, image []byte) {
	w := newBare(b, image)
	for b.Loop() {
		w.run(b)
	}
}

func BenchmarkEmptyRun(b *testing.B)         { benchRun(b, emptyUnit(), Params{}) }
func BenchmarkEmptyRunCPUTime(b *testing.B)  { benchRun(b, emptyUnit(), Params{MeasureCPU: true}) }
func BenchmarkEmptyRunBare(b *testing.B)     { benchBare(b, emptyUnit()) }
func BenchmarkNoMemoryRun(b *testing.B)      { benchRun(b, returns(0), Params{}) }
func BenchmarkNoMemoryRunBare(b *testing.B)  { benchBare(b, returns(0)) }
func BenchmarkHostCalls1e6(b *testing.B)     { benchRun(b, hostCalls(1_000_000), Params{}) }
func BenchmarkHostCalls1e6Bare(b *testing.B) { benchBare(b, hostCalls(1_000_000)) }
func BenchmarkCompute1e7(b *testing.B)       { benchRun(b, computes(10_000_000), Params{}) }
func BenchmarkCompute1e7Bare(b *testing.B)   { benchBare(b, computes(10_000_000)) }

// BenchmarkCompute1e7Closing is what wazero's own way to end a run costs.
func BenchmarkCompute1e7Closing(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	defer rt.Close(ctx)
	compiled, err := rt.CompileModule(ctx, computes(10_000_000))
	if err != nil {
		b.Fatal(err)
	}
	w := bare{rt, compiled}
	for b.Loop() {
		w.run(b)
	}
}

func BenchmarkSlice(b *testing.B) {
	m := compile(b, newTestEngine(b), computes(10_000_000))
	for name, slice := range map[string]uint64{"1e4": 1e4, "1e5": 1e5, "1e6": 1e6, "1e7": 1e7, "none": 1 << 60} {
		b.Run(name, func(b *testing.B) {
			l := enough()
			l.Slice = slice
			for b.Loop() {
				if _, err := m.Run(context.Background(), Params{Limits: l}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
