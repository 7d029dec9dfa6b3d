package wasm

import (
	"context"
	"errors"
	"os"
	"sync"

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

	mu      sync.Mutex
	closed  bool
	modules map[entryKey]*Module // kept in memory; least recently used goes first
	order   []entryKey           // of modules, oldest use first
	bytes   int64                // of modules
	flights map[entryKey]*sync.Mutex
}

// What an Engine keeps loaded for the next Compile of the same image.
const (
	keptModules = 32
	keptBytes   = 256 << 20 // rewritten modules and their machine code
)

// errClosed is what a closed Engine or Module answers.
var errClosed = errors.New("wasm engine: closed")

// NewEngine makes an Engine and its cache directory. Close it when done.
func NewEngine(c Config) (*Engine, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, modules: map[entryKey]*Module{}, flights: map[entryKey]*sync.Mutex{}, hosts: map[string]map[string]*HostFunc{}}
	for _, f := range c.HostFuncs {
		if e.hosts[f.Module] == nil {
			e.hosts[f.Module] = map[string]*HostFunc{}
		}
		e.hosts[f.Module][f.Name] = &f
	}
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

// Close frees all modules that nobody holds. Modules and runs that are still
// there go on, and are freed by their own Close.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	kept := e.modules
	e.modules, e.order = nil, nil
	e.mu.Unlock()
	for _, m := range kept {
		m.release()
	}
	if e.temp != "" {
		return os.RemoveAll(e.temp)
	}
	return nil
}

// Options say how a module is compiled.
type Options struct {
	// Metered counts every instruction. Without it a module is trusted: it is
	// guarded at loops and calls only, so that it can be ended from outside, and its
	// cost is its CPU time.
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
	key := e.entryKey(opts)
	if m := e.kept(key); m != nil {
		return m, nil
	}
	defer e.singleFlight(key)()
	if m := e.kept(key); m != nil {
		return m, nil
	}
	m, err := e.open(ctx, image, opts, key)
	if err == nil {
		e.keep(key, m)
	}
	return m, err
}

// kept finds a loaded module and holds it for the caller.
func (e *Engine) kept(key entryKey) *Module {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.modules[key]
	if m != nil {
		m.hold()
		e.touch(key)
	}
	return m
}

// touch moves a key to the young end of the order. The lock is held.
func (e *Engine) touch(key entryKey) {
	for i, k := range e.order {
		if k == key {
			copy(e.order[i:], e.order[i+1:])
			e.order[len(e.order)-1] = key
			return
		}
	}
	e.order = append(e.order, key)
}

// keep remembers a module that the caller holds already, for the next Compile.
func (e *Engine) keep(key entryKey, m *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return // the caller's hold is the only one
	}
	m.hold()
	e.modules[key] = m
	e.bytes += m.size
	e.touch(key)
	for len(e.order) > keptModules || (e.bytes > keptBytes && len(e.order) > 1) {
		oldest := e.modules[e.order[0]]
		delete(e.modules, e.order[0])
		e.order = append(e.order[:0], e.order[1:]...)
		e.bytes -= oldest.size
		oldest.release()
	}
}

// singleFlight lets one caller at a time compile a module; it returns the unlock.
func (e *Engine) singleFlight(key entryKey) func() {
	e.mu.Lock()
	flight := e.flights[key]
	if flight == nil {
		flight = &sync.Mutex{}
		e.flights[key] = flight
	}
	e.mu.Unlock()
	flight.Lock()
	return func() {
		flight.Unlock()
		e.mu.Lock()
		delete(e.flights, key)
		e.mu.Unlock()
	}
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
