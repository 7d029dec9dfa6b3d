package wasm

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// HostFunc is one function that a guest may import. Fn finds its arguments in
// stack and leaves its results there, from index 0, as wazero's GoModuleFunction.
// It may block only while ctx lives: the engine ends the run at the first
// host-call return after the deadline, a cancellation or a spent tank.
type HostFunc struct {
	Module, Name    string
	Params, Results []api.ValueType
	Fn              func(ctx context.Context, c *Call, stack []uint64)
}
