package rewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// program's end as its caller sees it.
type ending struct {
	out, err string
	code     uint32
	trap     string
	used     int64
}

// runWASI runs a command with a folder of its own, the engine's own WASI, and a
// clock and randomness that are always the same.
func runWASI(t *testing.T, b []byte, way int) (e ending) {
	m := newMachine(t)
	defer m.rt.Close(context.Background())
	m.budget(2_000_000_000)
	m.slice = 1 << 22
	ctx := context.Background()
	wasi_snapshot_preview1.MustInstantiate(ctx, m.rt)
	old := m.rt.NewHostModuleBuilder("wasi_unstable")
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(old)
	must(old.Instantiate(ctx))
	var out, errs bytes.Buffer
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithArgs("program", "first", "2").WithEnv("KEY", "value").
		WithStdin(strings.NewReader("alpha\nbeta\n12\n")).WithStdout(&out).WithStderr(&errs).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(t.TempDir(), "/"))
	mod, err := m.rt.InstantiateWithConfig(ctx, rewriting(t, way)(b), c)
	if err != nil {
		t.Fatal(err)
	}
	in := &instance{m: m, mod: mod, metered: way != plain}
	if in.metered {
		setStack(mod, 1<<16)
	}
	r := in.call("_start")
	var exit *sys.ExitError
	if errors.As(r.err, &exit) {
		e.code, r.trap = exit.ExitCode(), ""
	}
	e.out, e.err, e.trap = out.String(), errs.String(), r.trap
	if r.trap == "" {
		e.used = r.used
	}
	return e
}

// TestWASIPrograms runs all real programs of the vectors in all ways.
func TestWASIPrograms(t *testing.T) {
	ran := 0
	for _, f := range wasiFiles(t) {
		b := must(os.ReadFile(f))
		info, err := Scan(b, DefaultLimits())
		if err != nil || !isCommand(info) || filepath.Base(f) == "symlink_filestat.wasm" { // which prints the host's time
			continue
		}
		ran++
		t.Run(filepath.Base(f), func(t *testing.T) {
			ref := runWASI(t, b, byReference)
			got := runWASI(t, b, metered)
			if ref != got {
				t.Errorf("metered: got %+v, want %+v", got, ref)
			}
			if ref.trap == "fuel" || ref.trap == "stack overflow" {
				return // it would not end by itself
			}
			want := runWASI(t, b, plain)
			want.used = ref.used
			if ref != want {
				t.Errorf("reference: got %+v, want %+v", ref, want)
			}
		})
	}
	if ran != 61 {
		t.Errorf("ran %d programs, want 61", ran)
	}
}

func wasiFiles(t *testing.T) (files []string) {
	dir := vectors.Dir(t, group)
	for _, p := range []string{"realworld/*.wasm", "wasmtime-cli/*.wasm", "wasi-testsuite/*/*.wasm"} {
		files = append(files, must(filepath.Glob(filepath.Join(dir, p)))...)
	}
	return files
}

// isCommand: it exports _start, and imports nothing but WASI.
func isCommand(info *Info) bool {
	start := false
	for _, e := range info.Exports {
		start = start || e.Name == "_start" && e.Kind == FuncKind && len(e.Func.Params) == 0
	}
	for _, i := range info.Imports {
		if i.Kind != FuncKind || !strings.HasPrefix(i.Module, "wasi_") {
			return false
		}
	}
	return start
}

func (e ending) String() string {
	return fmt.Sprintf("exit %d, trap %q, %d units, %q, %q", e.code, e.trap, e.used, e.out, e.err)
}
