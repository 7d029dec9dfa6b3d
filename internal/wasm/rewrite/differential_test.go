package rewrite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// fuzzBudget is enough for most and short for a loop without end.
const fuzzBudget = 300_000

// trial is one module run in every way that a metered module must agree with.
type trial struct {
	t    testing.TB
	b    []byte
	info *Info
	nan  bool // it does arithmetic on floats, whose NaNs the plain way leaves open
}

// runTrial runs all exported functions of a module, one after another in the
// same instance, plainly metered and metered for speed, and as it is where the
// run is known to end.
func runTrial(t testing.TB, b []byte) {
	info, err := Scan(b, DefaultLimits())
	if err != nil || info.TrapsAtStart != "" || !linkable(info) {
		return
	}
	x := &trial{t: t, b: b, info: info}
	x.findArithmetic()
	want, end := x.run(byReference)
	got, _ := x.run(metered)
	x.compare("metered against reference", want, got, true)
	if end == "" {
		asIs, _ := x.run(plain)
		x.compare("plain against reference", want, asIs, false)
	}
}

// linkable modules import nothing but functions, which linkAll makes up.
func linkable(info *Info) bool {
	for _, i := range info.Imports {
		if i.Kind != FuncKind {
			return false
		}
	}
	return info.Memory == nil || info.Memory.MinPages <= 64
}

func (x *trial) findArithmetic() {
	must(decodeModule(x.b, DefaultLimits(), false, func(_ *module, _ uint32, c *code) {
		for k := range c.ins {
			x.nan = x.nan || c.ins[k].op.arithmetic() != notFloat
		}
	}))
}

// run returns the results up to the first that is not the guest's own doing,
// and what that was.
func (x *trial) run(way int) (log []result, end string) {
	m := newMachine(x.t)
	defer m.rt.Close(context.Background())
	m.slice, m.cap = 10_000, 64
	m.budget(fuzzBudget)
	m.linkAll(x.info)
	in, err := m.start(rewriting(x.t, way)(x.b), "")
	if err != nil {
		if k := trapKind(err); ownEnd(k) {
			return nil, k
		}
		return []result{{err: err, trap: trapKind(err)}}, "start"
	}
	for _, e := range x.info.Exports {
		if e.Kind != FuncKind {
			continue
		}
		for _, seed := range []uint64{0, 1, 77} {
			m.budget(fuzzBudget)
			in.empty()
			r := in.call(e.Name, arguments(e.Func, seed)...)
			if ownEnd(r.trap) {
				return log, r.trap
			}
			trim(e.Func, r.values)
			log = append(log, r)
		}
	}
	return log, ""
}

// ownEnd reports whether metering ended the run.
func ownEnd(kind string) bool {
	return kind == "fuel" || kind == "stack overflow" || kind == "memory cap"
}

func arguments(t *FuncType, seed uint64) (args []uint64) {
	for k, p := range t.Params {
		v := seed * uint64(k+3)
		switch p {
		case F32:
			args = append(args, uint64(math.Float32bits(float32(v)/3)))
		case F64:
			args = append(args, math.Float64bits(float64(v)/3))
		case V128:
			args = append(args, v, v<<7)
		case FuncRef, ExternRef:
			args = append(args, 0)
		default:
			args = append(args, v)
		}
	}
	return args
}

// trim clears what a result's word doesn't use, and references.
func trim(t *FuncType, values []uint64) {
	k := 0
	for _, r := range t.Results {
		if k >= len(values) {
			return
		}
		switch r {
		case I32, F32:
			values[k] &= 1<<32 - 1
		case FuncRef, ExternRef:
			values[k] = min(values[k], 1)
		}
		k += int(r.words())
	}
}

// compare holds two logs against each other. The shorter one ended early by the
// metering, whose moment within a run that is over anyway is its own.
func (x *trial) compare(what string, want, got []result, exactly bool) {
	for k := range min(len(want), len(got)) {
		w, g := want[k], got[k]
		if !exactly {
			w.used, w.simd = g.used, g.simd
			if x.nan {
				w.values, w.memory = g.values, g.memory
			}
		}
		if diff := w.differs(g); diff != "" {
			x.t.Errorf("%s: call %d: %s", what, k, diff)
			return
		}
		if exactly && w.err == nil && w.used > fuzzBudget {
			x.t.Errorf("%s: call %d used %d units of %d", what, k, w.used, fuzzBudget)
		}
	}
	if len(want) > len(got) && slices.ContainsFunc(want[len(got):], func(r result) bool { return r.err == nil }) && exactly && want[len(got)].err == nil {
		x.t.Errorf("%s: call %d ended early", what, len(got))
	}
}

// linkAll makes up the functions that a module imports: they return a digest of
// their arguments.
func (m *machine) linkAll(info *Info) {
	done := map[string]bool{}
	for _, i := range info.Imports {
		if done[i.Module] || i.Module == MeterModule {
			continue
		}
		done[i.Module] = true
		b := m.rt.NewHostModuleBuilder(i.Module)
		for _, j := range info.Imports {
			if key := i.Module + "\x00" + j.Name; j.Module == i.Module && !done[key] {
				done[key] = true
				b.NewFunctionBuilder().WithGoFunction(digest(j.Func), apiTypes(j.Func.Params), apiTypes(j.Func.Results)).Export(j.Name)
			}
		}
		if _, err := b.Instantiate(context.Background()); err != nil {
			panic(fmt.Sprint("link: ", err))
		}
	}
}

func digest(t *FuncType) api.GoFunc {
	return func(_ context.Context, s []uint64) {
		var h uint64
		k := 0
		for _, p := range t.Params {
			v := s[k]
			if p == I32 || p == F32 {
				v &= 1<<32 - 1
			}
			h = h*31 + v
			k += int(p.words())
		}
		k = 0
		for _, r := range t.Results {
			s[k] = h % 1000
			if r.isRef() {
				s[k] = 0
			}
			if r == V128 {
				s[k+1] = h
			}
			k += int(r.words())
		}
	}
}

func apiTypes(ts []ValType) (out []api.ValueType) {
	for _, t := range ts {
		out = append(out, api.ValueType(t))
	}
	return out
}
