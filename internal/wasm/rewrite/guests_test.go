package rewrite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

func guest(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "guests", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// launch starts a guest one of the ways, on a machine of its own.
func launch(t testing.TB, name string, way int) *instance {
	t.Helper()
	m := newMachine(t)
	m.exitingHost()
	in, err := m.start(rewriting(t, way)(guest(t, name)), "")
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// exited is what a guest's exit panics with.
type exited struct{}

func (exited) Error() string { return "exited" }

// exitingHost is what host.wat imports.
func (m *machine) exitingHost() {
	i32 := []api.ValueType{api.ValueTypeI32}
	b := m.rt.NewHostModuleBuilder("env")
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { m.seen++; s[0] = uint64(uint32(s[0]) + 1) }), i32, i32).Export("seen")
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) { panic(exited{}) }), nil, nil).Export("exit")
	must(b.Instantiate(context.Background()))
}

// bothWays are the metered ways.
var bothWays = []int{byReference, metered}
