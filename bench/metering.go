package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

const benchPrograms = "internal/wasm/rewrite/testdata/bench"

// The programs export run: (i32) -> i32 or f64; each argument keeps run busy for about
// ten milliseconds or more.
var meteringPrograms = []struct {
	file string
	n    uint64
}{{"loop", 20_000_000}, {"fib", 29}, {"sha256", 2}, {"matrix", 12}, {"nbody", 40_000}, {"sort", 4}, {"vm", 40}}

// metering times the same compute with its instructions counted and bounded, and
// on the bare engine, which does neither.
func metering(n int) error {
	header("Compute, every instruction counted", "metered", "bare engine")
	var all []pairs
	for _, program := range meteringPrograms {
		file := filepath.Join(benchPrograms, program.file+".wasm")
		image, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		ours, got, closeOurs, err := meteredCaller(file, program.n)
		if err != nil {
			return err
		}
		peer, want, closePeer, err := caller(image, program.n)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s returns %v metered, %v on the bare engine", program.file, got, want)
		}
		p, err := measure(program.file, n, clock(ours), clock(peer))
		closeOurs()
		closePeer()
		if err != nil {
			return err
		}
		p.print()
		all = append(all, p)
	}
	fmt.Printf("%-34s x%.2f\n", fmt.Sprintf("geometric mean of %d", len(all)), geomean(all))
	return nil
}

// meteredCaller is caller of a file's module, metered.
func meteredCaller(file string, n uint64) (call func() error, first float64, done func(), err error) {
	image, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, nil, err
	}
	metered, _, err := rewrite.Meter(image, rewrite.Options{SIMDWeight: 2})
	if err != nil {
		return nil, 0, nil, err
	}
	return caller(metered, n)
}

// slice is how much a tick refills, as in a real run: it looks at the clock too.
const slice = 200_000

// caller calls run in one instance, metered or not: nothing but the compute is
// timed. first is what the first call returned.
func caller(module []byte, n uint64) (call func() error, first float64, done func(), err error) {
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	deadline := time.Now().Add(time.Hour)
	nothing := func(context.Context, api.Module, []uint64) {}
	_, err = r.NewHostModuleBuilder("joulebox.meter").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
		if time.Now().After(deadline) {
			panic("out of time")
		}
		stack[0] = uint64(int64(stack[0]) + slice)
	}), []api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).Export("tick").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(nothing), nil, nil).Export("overflow").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(nothing), []api.ValueType{api.ValueTypeI32}, nil).Export("grow").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(nothing), []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}, nil).Export("table_grow").
		Instantiate(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	m, err := r.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, 0, nil, err
	}
	if stack, ok := m.ExportedGlobal("joulebox.stack").(api.MutableGlobal); ok {
		stack.Set(1 << 20)
	}
	run := m.ExportedFunction("run")
	results, err := run.Call(ctx, n)
	if err != nil {
		return nil, 0, nil, err
	}
	return func() error {
		_, err := run.Call(ctx, n)
		return err
	}, number(run.Definition().ResultTypes()[0], results[0]), func() { _ = r.Close(ctx) }, nil
}

// number is a result, which is an i32 or an f64.
func number(t api.ValueType, bits uint64) float64 {
	if t == api.ValueTypeF64 {
		return api.DecodeF64(bits)
	}
	return float64(api.DecodeI32(bits))
}
