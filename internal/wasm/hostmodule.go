package wasm

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// meterModule is the module that metered code imports from. Guests can't: the
// rewriting refuses names that begin with "joulebox.".
const meterModule = "joulebox.meter"

// Exports of a metered module.
const (
	exportFuel  = "joulebox.fuel"
	exportSIMD  = "joulebox.simd"
	exportStack = "joulebox.stack"
	exportStart = "joulebox.start"
)

var (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// meterFuncs are what metered code calls to have its bounds enforced. They run
// as plain functions: no host call, so no charge and no host context.
var meterFuncs = []struct {
	name            string
	params, results []api.ValueType
	fn              func(r *run, stack []uint64)
}{
	{"tick", []api.ValueType{i64}, []api.ValueType{i64}, func(r *run, s []uint64) { s[0] = uint64(r.tick(int64(s[0]))) }},
	{"overflow", nil, nil, func(r *run, _ []uint64) { r.stop(stop{cause: Trapped, trap: TrapStack}) }},
	{"grow", []api.ValueType{i32}, nil, func(r *run, s []uint64) { r.mem.grow(uint32(s[0])) }},
	{"table_grow", []api.ValueType{i32, i32}, nil, func(r *run, s []uint64) { r.mem.growTable(uint32(s[1])) }},
}

// instantiateHosts registers what a module imports and nothing else: each
// function costs a trampoline, and a warm start pays for all of them.
func instantiateHosts(ctx context.Context, rt wazero.Runtime, imports map[string][]*HostFunc) error {
	for name, funcs := range imports {
		b := rt.NewHostModuleBuilder(name)
		for _, f := range funcs {
			b = b.NewFunctionBuilder().WithGoFunction(hostGoFunc(f), f.Params, f.Results).Export(f.Name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("host module %q: %w", name, err)
		}
	}
	return nil
}

// hostGoFunc puts the run's bounds around a host function. Compiled code leaves
// the upper half of a 32-bit argument's slot as it was; the functions behind the
// seam may rely on its being zero.
func hostGoFunc(f *HostFunc) api.GoFunc {
	var narrow []int
	for i, t := range f.Params {
		if t == api.ValueTypeI32 || t == api.ValueTypeF32 {
			narrow = append(narrow, i)
		}
	}
	return func(ctx context.Context, stack []uint64) {
		for _, i := range narrow {
			stack[i] = uint64(uint32(stack[i]))
		}
		ctx.(*run).callHost(f.Fn, stack)
	}
}

func instantiateMeter(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(meterModule)
	for _, f := range meterFuncs {
		fn := api.GoFunc(func(ctx context.Context, stack []uint64) { f.fn(ctx.(*run), stack) })
		b = b.NewFunctionBuilder().WithGoFunction(fn, f.params, f.results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}
