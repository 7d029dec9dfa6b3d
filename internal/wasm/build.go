package wasm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// buildJob is what making an entry takes, apart from the image. It travels to
// the child as JSON.
type buildJob struct {
	Metered     bool           `json:"metered"`
	Interpreter bool           `json:"interpreter"`
	Scan        rewrite.Limits `json:"scan"`
	Compile     CompileLimits  `json:"compile"`
}

// build makes the parts of an entry in dir: it scans and rewrites the image,
// which refuses whatever isn't fit to be compiled, and has wazero write its
// machine code. It is the whole work of the child.
func build(dir string, image []byte, job buildJob) error {
	module, info, err := rewriteModule(image, job)
	if err != nil {
		return refusedByScan(err)
	}
	if err := checkDefinitions(info); err != nil {
		return err
	}
	encoded, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, infoFile), encoded, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, moduleFile), module, 0o600); err != nil {
		return err
	}
	return compileInto(dir, module, job)
}

// refusedByScan gives an error of the scan its public type.
func refusedByScan(err error) error {
	var at *rewrite.Error
	if !errors.As(err, &at) {
		return err
	}
	return &RefusedError{Reason: RefusedInvalid, Offset: int64(at.Offset), Msg: at.Msg}
}

// definitionSteps bounds what wazero does at the first trap or exit of a module:
// it looks through all exports for each function's names.
const definitionSteps = 1 << 28

func checkDefinitions(info *rewrite.Info) error {
	if n := len(info.Exports); uint64(n)*uint64(info.Functions) > definitionSteps {
		return refuse(RefusedLimit, "%d exports and %d functions: want a product of %d at most", n, info.Functions, definitionSteps)
	}
	return nil
}

// compileInto has wazero compile a module and write the machine code to dir.
func compileInto(dir string, module []byte, job buildJob) error {
	config := runtimeConfig(job.Interpreter)
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), job.Compile.Workers)
	defer cache.Close(ctx)
	rt := wazero.NewRuntimeWithConfig(ctx, config.WithCompilationCache(cache))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(ctx, module); err != nil {
		return refuse(RefusedInvalid, "the compiler does not take it: %v", err)
	}
	return nil
}

// open takes a module from the disk cache, or makes it.
func (e *Engine) open(ctx context.Context, image []byte, opts Options, key entryKey) (*Module, error) {
	entry, err := e.disk.read(key)
	if err == nil {
		var m *Module
		if m, err = e.load(entry, opts.Metered); err == nil || !errors.Is(err, errStale) {
			return m, err
		}
	}
	if err := e.make(ctx, image, opts, key); err != nil {
		return nil, err
	}
	if entry, err = e.disk.read(key); err != nil {
		return nil, fmt.Errorf("wasm cache: entry %s was changed or removed while in use: is %s shared with another user?", key, e.disk.dir)
	}
	return e.load(entry, opts.Metered)
}

// make builds an entry, in the child or here, and adds it to the disk cache.
func (e *Engine) make(ctx context.Context, image []byte, opts Options, key entryKey) error {
	work, err := e.disk.workDir()
	if err != nil {
		return fmt.Errorf("wasm cache: %w", err)
	}
	defer os.RemoveAll(work) // of what is left: an entry that was added has moved
	job := buildJob{Metered: opts.Metered, Interpreter: e.config.Interpreter, Scan: e.config.Scan, Compile: e.config.Compile}
	if e.config.InProcess {
		err = build(work, image, job)
	} else {
		err = buildInChild(ctx, work, image, job)
	}
	if err != nil {
		return err
	}
	return e.disk.add(key, work)
}
