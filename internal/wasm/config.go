package wasm

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// Config is what an Engine is made of.
type Config struct {
	// HostFuncs are all that guests may import.
	HostFuncs []HostFunc

	// CacheDir keeps compiled modules between processes; it is made if missing and
	// must belong to this user alone. Empty means a directory that the engine
	// removes when it is closed.
	CacheDir string

	// CacheBytes bounds the cache directory; the entries that were used longest ago
	// go first. Zero means DefaultCacheBytes.
	CacheBytes int64

	// Scan are the limits of what a module may claim and hold. The zero value
	// means rewrite.DefaultLimits.
	Scan rewrite.Limits

	// Compile bounds the compilation of one module.
	Compile CompileLimits

	// InProcess compiles in this process, where Compile's limits can't be held: for
	// embedders whose modules are their own. Otherwise the program's main must call
	// MaybeRunChild first.
	InProcess bool

	// Interpreter runs guests without compiling them, as is done anyway on
	// processors that wazero has no compiler for. Its calls nest 2,000 deep at most.
	Interpreter bool
}

// CompileLimits bound the compilation of one module. Past one of them a module
// is refused with RefusedCompileTime or RefusedCompileMemory.
type CompileLimits struct {
	// Time is the wall time. Zero means DefaultCompileTime.
	Time time.Duration

	// CPU is the processor time of all workers together. Zero means
	// DefaultCompileCPU.
	CPU time.Duration

	// MemoryBytes is the address space that compiling may take beyond what the
	// process starts with. Zero means DefaultCompileBytes.
	MemoryBytes uint64

	// Workers compile functions side by side. Zero means one a processor, four at most.
	Workers int
}

// Defaults of Config and CompileLimits. A CPython of 26 MB takes 6 s of processor
// time and 700 MB of address space.
const (
	DefaultCacheBytes   = 1 << 30
	DefaultCompileTime  = 60 * time.Second
	DefaultCompileCPU   = 60 * time.Second
	DefaultCompileBytes = 2 << 30
)

func (c Config) withDefaults() (Config, error) {
	if c.CacheBytes == 0 {
		c.CacheBytes = DefaultCacheBytes
	}
	if c.Scan == (rewrite.Limits{}) {
		c.Scan = rewrite.DefaultLimits()
	}
	c.Compile = c.Compile.withDefaults()
	if !c.InProcess && !childHook {
		return c, errors.New("wasm engine: modules are compiled in a child process, which needs wasm.MaybeRunChild as the first call of main; or set InProcess")
	}
	return c, c.checkHostFuncs()
}

func (l CompileLimits) withDefaults() CompileLimits {
	if l.Time == 0 {
		l.Time = DefaultCompileTime
	}
	if l.CPU == 0 {
		l.CPU = DefaultCompileCPU
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = DefaultCompileBytes
	}
	if l.Workers == 0 {
		l.Workers = min(runtime.NumCPU(), 4)
	}
	return l
}

func (c Config) checkHostFuncs() error {
	seen := map[[2]string]bool{}
	for _, f := range c.HostFuncs {
		name := [2]string{f.Module, f.Name}
		switch {
		case f.Module == "" || f.Name == "" || f.Fn == nil:
			return fmt.Errorf("wasm engine: host function %q %q needs a module, a name and a function", f.Module, f.Name)
		case f.Module == meterModule:
			return fmt.Errorf("wasm engine: host function %q: module %q is the engine's own", f.Name, meterModule)
		case seen[name]:
			return fmt.Errorf("wasm engine: host function %q %q is given twice", f.Module, f.Name)
		}
		seen[name] = true
	}
	return nil
}
