package host

import (
	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm"
)

// S0 is Bare: trusted WASM with nothing but compute. The unit is a process of
// ours with nothing added, not even counting; it is still ended at its bounds.
func S0(engine *wasm.Engine) Executor {
	return wasmExecutor{engine: engine, tier: joulebox.S0, metered: false, needs: nil}
}
