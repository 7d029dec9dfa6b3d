package wasi

import (
	"context"

	"github.com/joulebox/joulebox/internal/wasm"
)

// procExit ends the run. The code is the unit's exit code as it stands.
func procExit(_ context.Context, c *wasm.Call, stack []uint64) { c.Exit(uint32(stack[0])) }

// procRaise has nobody to signal: a unit is one process without handlers.
func procRaise(*call, []uint64) Errno { return ENotsup }

func schedYield(*call, []uint64) Errno { return Success }

// randomStep is how much randomness is drawn between two looks at the context.
const randomStep = 64 << 10

func randomGet(k *call, a []uint64) Errno {
	b, ok := k.slice(uint32(a[0]), uint32(a[1]))
	if !ok {
		return EFault
	}
	k.wrote(uint32(a[0]), uint32(a[1]))
	for len(b) > 0 {
		n := min(len(b), randomStep)
		k.chargeBytes(uint64(n))
		if err := k.c.sys.Random(k.ctx, b[:n]); err != nil {
			return errnoOf(err)
		}
		b = b[n:]
	}
	return Success
}
