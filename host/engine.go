package host

import (
	"slices"

	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/wasi"
	"github.com/joulebox/joulebox/internal/wasm"
)

// Engine compiles and runs WASM units for S0 to S2. One serves all of a process.
type Engine = wasm.Engine

// EngineConfig says where compiled modules are kept and how compiling is bounded.
type EngineConfig struct {
	// CacheDir keeps compiled modules between processes. Empty means a directory
	// that goes when the engine is closed.
	CacheDir string
	// InProcess compiles here, where time and memory of it can't be bounded. Else
	// the program's main must call RunCompilerIfAsked first.
	InProcess bool
	// Compile bounds the compilation of one module.
	Compile wasm.CompileLimits
}

// NewEngine makes an engine whose units can import WASI preview 1 and the sandbox
// interface.
func NewEngine(c EngineConfig) (*Engine, error) {
	return wasm.NewEngine(wasm.Config{
		HostFuncs: hostFuncs(),
		CacheDir:  c.CacheDir,
		InProcess: c.InProcess,
		Compile:   c.Compile,
	})
}

// hostFuncs are all that a unit can import.
func hostFuncs() []wasm.HostFunc { return slices.Concat(wasi.HostFuncs(), hostcall.HostFuncs()) }

// RunChildIfAsked turns this process into the bounded child that compiles modules,
// or into the jailed one that runs a unit, if it was started as one, and then
// doesn't return. It comes first in main, and in TestMain of tests that run units.
func RunChildIfAsked() {
	hostedHook = true
	runCellIfAsked()
	wasm.MaybeRunChild()
	runHostedIfAsked()
}

// hostedHook says that this program calls RunChildIfAsked. Without it a
// re-execution would start the program itself once more.
var hostedHook bool

// RunCompilerIfAsked is RunChildIfAsked by its first name.
func RunCompilerIfAsked() { RunChildIfAsked() }
