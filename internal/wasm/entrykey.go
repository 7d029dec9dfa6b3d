package wasm

import (
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/zeebo/blake3"
	"golang.org/x/sys/cpu"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// entryKey names a cache entry. It covers all that decides what the entry holds:
// the image, the way it is rewritten, the limits it passed, and the compiler.
type entryKey [32]byte

func (k entryKey) String() string { return hex.EncodeToString(k[:]) }

// keyMemo is the key that was asked for last: a unit is often run again.
type keyMemo struct {
	image  joulebox.ID
	weight uint32
	key    entryKey
}

func (e *Engine) entryKey(opts Options) entryKey {
	if m := e.lastKey.Load(); m != nil && m.image == opts.ImageID && m.weight == opts.SIMDWeight {
		return m.key
	}
	m := &keyMemo{opts.ImageID, opts.SIMDWeight, e.computeKey(opts)}
	e.lastKey.Store(m)
	return m.key
}

func (e *Engine) computeKey(opts Options) (key entryKey) {
	h := blake3.NewDeriveKey("joulebox wasm cache entry v1")
	fmt.Fprintf(h, "%s\nsimd %d\ninterpreter %t\nlimits %+v\nrewrite %v\n%s\n",
		opts.ImageID, max(1, opts.SIMDWeight), e.config.Interpreter, e.config.Scan, rewrite.Version, compiler())
	h.Sum(key[:0])
	return key
}

// compiler names what makes the machine code: wazero's version, the platform and
// the processor features that wazero looks at.
var compiler = sync.OnceValue(func() string {
	return fmt.Sprintf("wazero %s %s/%s sse4.1 %t bmi1 %t bmi2 %t popcnt %t", wazeroVersion(), runtime.GOOS, runtime.GOARCH,
		cpu.X86.HasSSE41, cpu.X86.HasBMI1, cpu.X86.HasBMI2, cpu.X86.HasPOPCNT)
})

func wazeroVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if strings.HasPrefix(dep.Path, "github.com/tetratelabs/wazero") {
			return dep.Version
		}
	}
	return "unknown"
}
