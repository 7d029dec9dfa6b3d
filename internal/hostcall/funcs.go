package hostcall

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox/internal/effect"
	"github.com/joulebox/joulebox/internal/wasm"
)

// Module is the name that guests import from. "exec" and "infer" are kept in it
// for capabilities to come (§5.4, §5.5); importing them is refused until then.
const Module = "sandbox"

// function is one call: arguments in a, the result comes back.
type function func(k *call, a []uint64) int64

type signature struct {
	name, params, result string // "i" for i32, "I" for i64
	f                    function
}

var signatures = []signature{
	{"kv_get", "iiii", "i", kvGet},
	{"kv_put", "iiii", "i", kvPut},
	{"storage_read", "iiIii", "i", storageRead},
	{"storage_write", "iiIii", "i", storageWrite},
	{"egress", "iiiiii", "i", egress},
	{"clock_now", "", "I", clockNow},
	{"random_u64", "i", "i", randomU64},
	{"log", "iii", "i", logLine},
}

// HostFuncs are the functions of module "sandbox". Their runs' State must be a
// Carrier.
func HostFuncs() []wasm.HostFunc {
	list := make([]wasm.HostFunc, len(signatures))
	for i, s := range signatures {
		list[i] = wasm.HostFunc{Module: Module, Name: s.name, Params: types(s.params), Results: types(s.result),
			Fn: hostFunc(s)}
	}
	return list
}

func hostFunc(s signature) func(context.Context, *wasm.Call, []uint64) {
	return func(ctx context.Context, c *wasm.Call, stack []uint64) {
		carrier, ok := c.State.(Carrier)
		if !ok {
			stack[0] = s.encode(int64(Unavailable))
			return
		}
		invoke(ctx, carrier.Sandbox(), c, &s, stack)
	}
}

// Carrier is what a run's wasm.Params.State must be for HostFuncs to find their
// Services.
type Carrier interface{ Sandbox() Services }

// Guest is a run as the calls see it; *wasm.Call is one.
type Guest interface {
	Memory() []byte
	Charge(units uint64)
}

func invoke(ctx context.Context, services Services, g Guest, s *signature, stack []uint64) {
	k := call{ctx: ctx, s: services, g: g, mem: g.Memory()}
	r := services.Recorder()
	if r == nil {
		k.charge(services.Tolls().Call)
		stack[0] = s.encode(s.f(&k, stack))
		return
	}
	done := effect.Call{Module: Module, Name: s.name, Args: slices.Clone(stack[:len(s.params)]), Broke: true}
	defer func() {
		done.Units, done.Writes = k.units, k.writes
		if err := r.Record(done); err != nil && !done.Broke {
			effect.Refuse(g)
			stack[0] = s.encode(int64(IO))
		}
	}()
	k.charge(services.Tolls().Call)
	done.Result = s.encode(s.f(&k, stack))
	stack[0], done.Broke = done.Result, false
}

// Invoke makes one call by its name for a guest of any engine: arguments in stack,
// the result in stack[0]. It reports false when there is no such call.
func Invoke(ctx context.Context, services Services, g Guest, name string, stack []uint64) bool {
	for i := range signatures {
		s := &signatures[i]
		if s.name == name && len(stack) >= max(1, len(s.params)) {
			invoke(ctx, services, g, s, stack)
			return true
		}
	}
	return false
}

// encode is how the engine wants a result: an i32 in the low half, the rest zero.
func (s *signature) encode(v int64) uint64 {
	if s.result == "i" {
		return uint64(uint32(v))
	}
	return uint64(v)
}

func types(s string) []api.ValueType {
	list := make([]api.ValueType, len(s))
	for i, c := range s {
		list[i] = api.ValueTypeI32
		if c == 'I' {
			list[i] = api.ValueTypeI64
		}
	}
	return list
}
