package rewrite

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// program is one of the compute programs that the cost of metering is measured with.
type program struct {
	name string
	fn   string
	arg  []uint64
	wasm func(testing.TB) []byte
}

func own(name string) func(testing.TB) []byte {
	return func(t testing.TB) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", "bench", name+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

var programs = []program{
	{"loop", "run", []uint64{20_000_000}, own("loop")},
	{"sha256", "run", []uint64{2}, own("sha256")},
	{"fib", "run", []uint64{29}, own("fib")},
	{"matrix", "run", []uint64{12}, own("matrix")},
	{"nbody", "run", []uint64{40_000}, own("nbody")},
	{"sort", "run", []uint64{4}, own("sort")},
	{"vm", "run", []uint64{40}, own("vm")},
	{"bench-case/fib", "fibonacci", []uint64{34}, benchCase},
	{"bench-case/base64", "base64", []uint64{4000}, benchCase},
	{"bench-case/strings", "string_manipulation", []uint64{4000}, benchCase},
	{"bench-case/reverse", "reverse_array", []uint64{200000}, benchCase},
	{"bench-case/matrix", "random_mat_mul", []uint64{100}, benchCase},
}

func benchCase(t testing.TB) []byte { return vectors.Read(t, group, "realworld/bench-case.wasm") }

// benchHost is what bench-case imports. Its buffer comes from the guest, which
// is called back while it waits.
func (m *machine) benchHost() {
	ctx, i32 := context.Background(), api.ValueTypeI32
	random := func(ctx context.Context, mod api.Module, s []uint64) {
		const size = 10
		at := must(mod.ExportedFunction("allocate_buffer").Call(ctx, size))[0]
		mod.Memory().Write(uint32(at), []byte("0123456789"))
		mod.Memory().WriteUint32Le(uint32(s[0]), uint32(at))
		mod.Memory().WriteUint32Le(uint32(s[1]), size)
	}
	must(m.rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(random), []api.ValueType{i32, i32}, nil).Export("get_random_string").Instantiate(ctx))
	must(m.rt.NewHostModuleBuilder("wasi_snapshot_preview1").NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { s[0] = 0 }), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}).Export("fd_write").Instantiate(ctx))
}

// pair is a program twice: as it is, and metered.
type pair struct {
	plain, metered api.Function
	arg            []uint64
}

func (p *program) load(b *testing.B) pair {
	wasm := p.wasm(b)
	m := newMachine(b)
	m.benchHost()
	find := func(w []byte) api.Function {
		mod, err := m.rt.InstantiateWithConfig(context.Background(), w, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			b.Fatal(err)
		}
		if g := mod.ExportedGlobal(StackGlobal); g != nil {
			g.(api.MutableGlobal).Set(1 << 20)
		}
		if init := mod.ExportedFunction("_start"); init != nil {
			must(init.Call(context.Background()))
		}
		return mod.ExportedFunction(p.fn)
	}
	out, _, err := Meter(wasm, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return pair{find(wasm), find(out), p.arg}
}

// BenchmarkMetering runs each program plain and metered by turns, each pair in
// another order, and reports the median of the pairs' ratios.
func BenchmarkMetering(b *testing.B) {
	var sum float64
	n := 0
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			x := p.load(b)
			var ratios, plain []float64
			for b.Loop() {
				a, c := timed(b, x.plain, x.arg), time.Duration(0)
				if len(ratios)%2 == 0 {
					c = timed(b, x.metered, x.arg)
				} else {
					c = timed(b, x.metered, x.arg)
					a = timed(b, x.plain, x.arg)
				}
				ratios = append(ratios, float64(c)/float64(a))
				plain = append(plain, a.Seconds()*1000)
			}
			slices.Sort(ratios)
			slices.Sort(plain)
			r := ratios[len(ratios)/2]
			b.ReportMetric(r, "metered/plain")
			b.ReportMetric(plain[len(plain)/2], "plain-ms")
			if b.N > 1 {
				sum += math.Log(r)
				n++
				b.Logf("geometric mean so far %.3f", math.Exp(sum/float64(n)))
			}
		})
	}
}

func timed(b *testing.B, f api.Function, arg []uint64) time.Duration {
	t := time.Now()
	if _, err := f.Call(context.Background(), arg...); err != nil {
		b.Fatal(err)
	}
	return time.Since(t)
}
