package host

import (
	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm"
)

// S2 is Sandbox: untrusted WASM in a managed runtime that counts every
// instruction, caps memory and brokers every capability (§2.2).
func S2(engine *wasm.Engine) Executor {
	return wasmExecutor{engine: engine, tier: joulebox.S2, metered: true, needs: append(brokered(), "compute.devices Simd")}
}
