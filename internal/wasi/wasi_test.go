package wasi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox/internal/vectors"
	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

func TestErrnos(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Errno
	}{
		{nil, Success}, {EAcces, EAcces}, {fmt.Errorf("wrapped: %w", ENotcapable), ENotcapable},
		{syscall.ENOENT, ENoent}, {&fs.PathError{Op: "open", Path: "/host", Err: syscall.ENOTDIR}, ENotdir},
		{syscall.EXDEV, EXdev}, {syscall.Errno(250), EIO}, {errors.New("anything"), EIO},
		{context.Canceled, ECanceled}, {fmt.Errorf("x: %w", context.DeadlineExceeded), ECanceled},
		{io.ErrClosedPipe, EPipe}, {os.ErrClosed, EBadf}, {&fs.PathError{Op: "write", Err: syscall.EPIPE}, EPipe},
	} {
		if got := errnoOf(tt.err); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.err, got, tt.want)
		}
	}
	for host, e := range hostErrnos {
		if _, named := errnoNames[e]; !named {
			t.Errorf("%v becomes %d, which has no name", host, uint16(e))
		}
	}
}

// TestErrnoNumbers: the numbers are in the definition's order, which guests know.
func TestErrnoNumbers(t *testing.T) {
	for e, want := range map[Errno]uint16{E2Big: 1, EAcces: 2, EBadf: 8, EExist: 20, EInval: 28, EIsdir: 31, ELoop: 32, ENoent: 44,
		ENosys: 52, ENotdir: 54, ENotempty: 55, ENotsock: 57, EPerm: 63, EPipe: 64, ESpipe: 70, EXdev: 75, ENotcapable: 76} {
		if uint16(e) != want {
			t.Errorf("%v: got %d, want %d", e, uint16(e), want)
		}
	}
}

// TestEveryImportOfThePrograms: each WASI function that a program at hand imports
// is there, with its very type.
func TestEveryImportOfThePrograms(t *testing.T) {
	have := map[string]string{}
	for _, f := range HostFuncs() {
		have[f.Module+"."+f.Name] = rewrite.FuncType{Params: valTypes(f.Params), Results: valTypes(f.Results)}.String()
	}
	if len(have) != 46+45 {
		t.Errorf("got %d functions, want 46 of preview 1 and 45 of its elder", len(have))
	}
	seen := map[string]bool{}
	for _, pattern := range []string{"wasi-testsuite/*/*.wasm", "realworld/*.wasm", "wasmtime-cli/*.wasm"} {
		programs, _ := filepath.Glob(filepath.Join(vectors.Dir(t, "06-wasm"), pattern))
		for _, p := range programs {
			checkImports(t, p, have, seen)
		}
	}
	if len(seen) < 35 {
		t.Errorf("the programs import %d different functions, want at least 35", len(seen))
	}
}

// valTypes spells the engine's types as the scanner's: both are the binary format's.
func valTypes(list []api.ValueType) (same []rewrite.ValType) {
	for _, v := range list {
		same = append(same, rewrite.ValType(v))
	}
	return same
}

func checkImports(t *testing.T, program string, have map[string]string, seen map[string]bool) {
	image, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	info, err := rewrite.Scan(image, rewrite.DefaultLimits())
	if err != nil {
		return // one that is refused
	}
	for _, i := range info.Imports {
		if i.Module != preview1.module && i.Module != unstable.module {
			continue
		}
		name := i.Module + "." + i.Name
		seen[name] = true
		if want := importType(i); have[name] != want {
			t.Errorf("%s: imports %s as %s, it is %q", filepath.Base(program), name, want, have[name])
		}
	}
}

func importType(i rewrite.Import) string {
	if i.Func == nil {
		return "no function"
	}
	return i.Func.String()
}
