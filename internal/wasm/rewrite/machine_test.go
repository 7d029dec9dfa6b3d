package rewrite

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// machine is a wazero runtime with the hooks that a metered module wants. It
// stands for the engine in these tests.
type machine struct {
	rt    wazero.Runtime
	drawn int64 // units handed out
	left  int64 // units that may still be
	slice int64
	ticks int
	pages uint32 // growth admitted so far
	cap   uint32 // pages that may be grown in all
	seen  int    // calls of a host function that counts them
}

var (
	errFuel     = errors.New("out of fuel")
	errOverflow = errors.New("stack allowance spent")
	errMemory   = errors.New("memory cap")
)

const ample = int64(1) << 50

func newMachine(t testing.TB) *machine {
	ctx := context.Background()
	m := &machine{rt: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(maxPages)), slice: 1 << 20}
	t.Cleanup(func() { m.rt.Close(ctx) })
	hook := func(fn func(s []uint64), params, results []api.ValueType) (api.GoFunc, []api.ValueType, []api.ValueType) {
		return func(_ context.Context, s []uint64) { fn(s) }, params, results
	}
	b := m.rt.NewHostModuleBuilder(MeterModule)
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	add := func(name string, fn api.GoFunc, params, results []api.ValueType) {
		b.NewFunctionBuilder().WithGoFunction(fn, params, results).Export(name)
	}
	fn, p, r := hook(m.tick, []api.ValueType{i64}, []api.ValueType{i64})
	add("tick", fn, p, r)
	fn, p, r = hook(func([]uint64) { panic(errOverflow) }, nil, nil)
	add("overflow", fn, p, r)
	fn, p, r = hook(m.grow, []api.ValueType{i32}, nil)
	add("grow", fn, p, r)
	fn, p, r = hook(func([]uint64) {}, []api.ValueType{i32, i32}, nil)
	add("table_grow", fn, p, r)
	must(b.Instantiate(ctx))
	m.budget(ample)
	m.cap = maxPages
	return m
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (m *machine) budget(units int64) { m.left, m.drawn, m.ticks, m.pages = units, 0, 0, 0 }

// tick fills the tank from the budget, in slices, to zero or above.
func (m *machine) tick(s []uint64) {
	tank := int64(s[0])
	m.ticks++
	for tank < 0 {
		n := min(m.slice, m.left)
		if n <= 0 {
			panic(errFuel)
		}
		m.left -= n
		m.drawn += n
		tank += n
	}
	s[0] = uint64(tank)
}

func (m *machine) grow(s []uint64) {
	if m.pages += uint32(s[0]); m.pages > m.cap {
		panic(errMemory)
	}
}

// instance is a running module, metered or not.
type instance struct {
	m       *machine
	mod     api.Module
	metered bool
	memory  bool
}

// start instantiates a module and runs its start function, as an engine would.
func (m *machine) start(b []byte, name string) (*instance, error) {
	ctx := context.Background()
	mod, err := m.rt.InstantiateWithConfig(ctx, b, wazero.NewModuleConfig().WithName(name).WithStartFunctions())
	if err != nil {
		return nil, err
	}
	x, err := decodeModule(b, DefaultLimits(), true, nil)
	in := &instance{m: m, mod: mod, metered: mod.ExportedGlobal(FuelGlobal) != nil, memory: err == nil && len(x.mems) > 0}
	if in.metered {
		setStack(mod, 1<<14)
	}
	if mod.ExportedFunction(StartFunction) != nil {
		if r := in.call(StartFunction); r.err != nil {
			return in, r.err
		}
	}
	return in, nil
}

func setStack(mod api.Module, words uint64) {
	mod.ExportedGlobal(StackGlobal).(api.MutableGlobal).Set(words)
}

// empty sets the counts to zero, so that the next call's are its own.
func (in *instance) empty() {
	if in.metered {
		in.mod.ExportedGlobal(FuelGlobal).(api.MutableGlobal).Set(0)
		if g := in.mod.ExportedGlobal(SIMDGlobal); g != nil {
			g.(api.MutableGlobal).Set(0)
		}
	}
}

type result struct {
	values []uint64
	err    error
	trap   string // the kind of trap
	used   int64
	simd   int64
	memory uint64 // hash of the memory
	line   int
}

func (in *instance) call(fn string, args ...uint64) (r result) {
	f := in.mod.ExportedFunction(fn)
	if f == nil {
		return result{err: errors.New("no such function")}
	}
	r.values, r.err = f.Call(context.Background(), args...)
	r.trap = trapKind(r.err)
	if in.metered {
		r.used = in.m.drawn - int64(in.mod.ExportedGlobal(FuelGlobal).Get())
		if g := in.mod.ExportedGlobal(SIMDGlobal); g != nil {
			r.simd = int64(g.Get())
		}
	}
	if in.memory {
		mem := in.mod.Memory()
		h := fnv.New64a()
		b, _ := mem.Read(0, mem.Size())
		h.Write(b)
		r.memory = h.Sum64()
	}
	return r
}

// trapKind is the first line of a trap without its position.
func trapKind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errFuel):
		return "fuel"
	case errors.Is(err, errOverflow):
		return "stack overflow"
	case errors.Is(err, errMemory):
		return "memory cap"
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "wasm error: ")
	line, _, _ = strings.Cut(line, " (recovered")
	return line
}

// meter is Meter for modules that must be fine.
func meter(t testing.TB, b []byte, reference bool) []byte {
	t.Helper()
	out, err := meterPlainly(b, Options{SIMDWeight: 3})
	if !reference {
		out, _, err = Meter(b, Options{SIMDWeight: 3})
	}
	if err != nil {
		t.Fatalf("meter: %v", err)
	}
	return out
}
