package host

import (
	"context"

	"github.com/joulebox/joulebox/internal/wasm"
)

// ModuleFacts is what has to be granted for a module to run at all.
type ModuleFacts struct {
	SIMD        bool
	MemoryBytes uint64
}

// Precompile checks a module as S2 would and leaves it in the engine's cache for
// the first run. Vector is what a vector instruction costs, in units.
func Precompile(ctx context.Context, engine *Engine, module []byte, vector uint64) (facts ModuleFacts, err error) {
	m, err := engine.Compile(ctx, module, wasm.Options{Metered: true, SIMDWeight: uint32(vector)})
	if err != nil {
		return facts, refused(err)
	}
	defer m.Close()
	info := m.Info()
	facts.SIMD = info.UsesSIMD
	if info.Memory != nil {
		const page = 64 << 10
		facts.MemoryBytes = uint64(info.Memory.MinPages) * page
	}
	return facts, nil
}
