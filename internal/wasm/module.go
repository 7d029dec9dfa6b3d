package wasm

import (
	"context"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// Module is a compiled module, ready to be run any number of times at once. It
// has a wazero runtime of its own: modules share no state, and closing one
// leaves nothing behind.
type Module struct {
	info    *rewrite.Info
	metered bool
	exports map[string]*rewrite.Export
	size    int64

	globalsOnce sync.Once
	globals     []string // that are part of the state

	cache    wazero.CompilationCache
	runtime  wazero.Runtime
	compiled wazero.CompiledModule

	mu    sync.Mutex
	holds int // the engine's, the callers' and one for each run
}

// Info is what the scan found out about the module. It mustn't be changed.
func (m *Module) Info() *rewrite.Info { return m.info }

// Close gives the module back. Runs that are under way go on.
func (m *Module) Close() { m.release() }

func (m *Module) hold() {
	m.mu.Lock()
	m.holds++
	m.mu.Unlock()
}

// holdIfOpen holds the module for a run, unless it has been closed.
func (m *Module) holdIfOpen() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds == 0 {
		return false
	}
	m.holds++
	return true
}

func (m *Module) release() {
	m.mu.Lock()
	m.holds--
	last := m.holds == 0
	m.mu.Unlock()
	if last {
		m.free()
	}
}

// free closes what wazero holds. Neither can fail: no instance is left.
func (m *Module) free() {
	_ = m.runtime.Close(context.Background())
	_ = m.cache.Close(context.Background())
}

// loadOnly makes wazero take a module from its compilation cache or not at all:
// with more than one worker it looks at the context before it compiles anything.
// What a module's compilation may cost can be held in the child only.
func loadOnly() context.Context {
	ctx, cancel := context.WithCancel(experimental.WithCompilationWorkers(context.Background(), 2))
	cancel()
	return ctx
}

// load makes a Module of a cache entry. The error is errStale when the entry
// lacks the machine code for this processor.
func (e *Engine) load(entry *entry, metered bool) (m *Module, err error) {
	imports, err := e.link(entry.info)
	if err != nil {
		return nil, err
	}
	m = &Module{info: entry.info, metered: metered, holds: 1, exports: map[string]*rewrite.Export{}, size: entry.size()}
	for i := range entry.info.Exports {
		m.exports[entry.info.Exports[i].Name] = &entry.info.Exports[i]
	}
	if m.cache, err = wazero.NewCompilationCacheWithDir(entry.dir); err != nil {
		return nil, err
	}
	m.runtime = wazero.NewRuntimeWithConfig(context.Background(), runtimeConfig(e.config.Interpreter).WithCompilationCache(m.cache))
	if err = m.instantiate(e, entry, imports); err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

func (m *Module) instantiate(e *Engine, entry *entry, imports map[string][]*HostFunc) (err error) {
	ctx := context.Background()
	if entry.hasCode() {
		ctx = loadOnly()
	}
	defer func() {
		if r := recover(); r != nil {
			err = &InternalError{fmt.Errorf("loading a module: %v", r)}
		}
	}()
	if m.compiled, err = m.runtime.CompileModule(ctx, entry.module); err != nil {
		if ctx.Err() != nil {
			return errStale
		}
		return &InternalError{err}
	}
	if !entry.unchanged() {
		return errStale
	}
	if err = instantiateMeter(context.Background(), m.runtime); err != nil {
		return &InternalError{err}
	}
	if err = instantiateHosts(context.Background(), m.runtime, imports); err != nil {
		return &InternalError{err}
	}
	return nil
}
