package wasm

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox"
)

// Engine compiles modules and keeps them. It is safe for concurrent use.
type Engine struct {
	config Config
	hosts  map[string]map[string]*HostFunc // by module, then name
	disk   *diskCache
	temp   string // a cache directory of our own, to be removed

	kept    keptModules
	lastKey atomic.Pointer[keyMemo]
}

// errClosed is what a closed Engine or Module answers.
var errClosed = errors.New("wasm engine: closed")

// NewEngine makes an Engine and its cache directory. Close it when done.
func NewEngine(c Config) (*Engine, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, hosts: hostTable(c.HostFuncs)}
	dir := c.CacheDir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "joulebox-wasm-"); err != nil {
			return nil, err
		}
		e.temp = dir
	}
	if e.disk, err = openDiskCache(dir, c.CacheBytes); err != nil {
		_ = os.RemoveAll(e.temp)
		return nil, err
	}
	return e, nil
}

func hostTable(funcs []HostFunc) map[string]map[string]*HostFunc {
	hosts := map[string]map[string]*HostFunc{}
	for _, f := range funcs {
		if hosts[f.Module] == nil {
			hosts[f.Module] = map[string]*HostFunc{}
		}
		hosts[f.Module][f.Name] = &f
	}
	return hosts
}

// Close frees all modules that nobody holds. Modules and runs that are still
// there go on, and are freed by their own Close.
func (e *Engine) Close() error {
	e.kept.close()
	if e.temp != "" {
		return os.RemoveAll(e.temp)
	}
	return nil
}

// Options say how a module is compiled.
type Options struct {
	// Metered bounds a run by its fuel and tells what it used. Without it a module
	// is trusted: it has no fuel limit, its cost is its CPU time, and it can still be
	// ended from outside, at its deadline or when its caller wishes.
	//
	// Both run the same code. Native code that never comes back to Go can't be
	// ended, and holds up the whole process at the next garbage collection; so
	// trusted code needs ticks too. wazero's own means, WithCloseOnContextDone, costs
	// 20 to 33 times in small loops, the ticks 0 to 13 percent.
	Metered bool

	// SIMDWeight is what a vector instruction costs, in units. Zero means one.
	SIMDWeight uint32

	// ImageID is the content address of the image, if the caller has computed it;
	// the zero ID has it computed here.
	ImageID joulebox.ID
}

// Compile scans, rewrites and compiles a module, or takes it from the cache. A
// module that can't be run gives a *RefusedError. Close the Module when done.
func (e *Engine) Compile(ctx context.Context, image []byte, opts Options) (*Module, error) {
	if opts.ImageID.IsZero() {
		opts.ImageID = joulebox.Sum(image)
	}
	key := moduleKey{e.entryKey(opts), opts.Metered}
	if m := e.kept.find(key); m != nil {
		return m, nil
	}
	defer e.kept.alone(key)()
	if m := e.kept.find(key); m != nil {
		return m, nil
	}
	m, err := e.open(ctx, image, opts, key.entry)
	if err == nil {
		e.kept.add(key, m)
	}
	return m, err
}

// runtimeConfig is the one way that guests are run. Never with
// WithCloseOnContextDone: it leaves the code at every loop head, which costs 8 to
// 38 times; the tick is where a run is ended.
func runtimeConfig(interpreter bool) wazero.RuntimeConfig {
	config := wazero.NewRuntimeConfig() // the compiler where there is one
	if interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	return config.WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
}
