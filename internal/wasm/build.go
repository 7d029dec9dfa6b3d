package wasm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// buildJob is what making an entry takes, apart from the image. It travels to
// the child as JSON.
type buildJob struct {
	Interpreter bool           `json:"interpreter"`
	SIMDWeight  uint32         `json:"simd_weight"`
	Workers     int            `json:"workers"`
	CPUSeconds  uint64         `json:"cpu_seconds"`
	MemoryBytes uint64         `json:"memory_bytes"`
	Scan        rewrite.Limits `json:"scan"`
}

func (e *Engine) buildJob(opts Options) buildJob {
	limits := e.config.Compile
	return buildJob{
		SIMDWeight: opts.SIMDWeight, Interpreter: e.config.Interpreter, Workers: limits.Workers,
		CPUSeconds: uint64(max(1, math.Ceil(limits.CPU.Seconds()))), MemoryBytes: limits.MemoryBytes, Scan: e.config.Scan,
	}
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
	return buildCode(dir, module, job)
}

// buildCode makes the machine code of a module and files it under its skeleton.
// Where there is no compiler the module itself is what is kept.
func buildCode(dir string, module []byte, job buildJob) error {
	whole := filepath.Join(dir, "whole")
	code, err := compileInto(whole, module, job)
	if err != nil {
		return err
	}
	if code != "" {
		if module, err = skeleton(module); err != nil {
			return err
		}
		place, err := compileInto(dir, module, job)
		if err != nil {
			return err
		}
		if err := os.Rename(code, place); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(whole); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, moduleFile), module, 0o600)
}

// refusedByScan gives an error of the scan its public type.
func refusedByScan(err error) error {
	var at *rewrite.Error
	if !errors.As(err, &at) {
		return err
	}
	why := RefusedInvalid
	if at.Limit {
		why = RefusedLimit
	}
	return &RefusedError{Reason: why, Offset: int64(at.Offset), Msg: at.Msg}
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

// compileInto has wazero compile a module and write the machine code below dir.
func compileInto(dir string, module []byte, job buildJob) (code string, err error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return "", err
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), job.Workers)
	defer cache.Close(ctx)
	rt := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(job.Interpreter).WithCompilationCache(cache))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(ctx, module); err != nil {
		return "", refuse(RefusedInvalid, "the compiler does not take it: %v", err)
	}
	return findCode(dir)
}

// open takes a module from the disk cache, or makes it. Other processes may evict
// an entry between its making and its loading, so there is more than one try.
func (e *Engine) open(ctx context.Context, image []byte, opts Options, key entryKey) (*Module, error) {
	m, err := e.loadEntry(key, opts)
	for try := 0; errors.Is(err, errStale) && try < 3; try++ {
		if err := e.make(ctx, image, opts, key); err != nil {
			return nil, err
		}
		m, err = e.loadEntry(key, opts)
	}
	if errors.Is(err, errStale) {
		err = fmt.Errorf("wasm cache: %s is changed by others while in use: use another directory", e.disk.dir)
	}
	return m, err
}

func (e *Engine) loadEntry(key entryKey, opts Options) (*Module, error) {
	entry, err := e.disk.read(key)
	if err != nil {
		return nil, err
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
	if e.config.InProcess {
		err = build(work, image, e.buildJob(opts))
	} else {
		err = buildInChild(ctx, work, image, e.buildJob(opts), e.config.Compile)
	}
	if err != nil {
		return err
	}
	return e.disk.add(key, work)
}
