package wasm

import (
	"bytes"
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestSkeletonsDiffer makes two modules that differ in their bodies alone: their
// skeletons must still be told apart, and each must find its own code.
func TestSkeletonsDiffer(t *testing.T) {
	one, err := skeleton(returns(1))
	if err != nil {
		t.Fatal(err)
	}
	two, err := skeleton(returns(2))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(one, two) {
		t.Error("two modules have one skeleton")
	}
	rt := wazero.NewRuntimeWithConfig(context.Background(), runtimeConfig(true))
	defer rt.Close(context.Background())
	if _, err := rt.CompileModule(context.Background(), one); err != nil {
		t.Errorf("a skeleton is no valid module: %v", err)
	}
}

func TestSkeletonOfABrokenModule(t *testing.T) {
	whole := returns(1)
	for n := 9; n < len(whole); n++ {
		_, _ = skeleton(whole[:n]) // must not panic
	}
	if _, err := skeleton(whole[:len(whole)-1]); err == nil {
		t.Error("a cut module: got no error")
	}
}

// TestNothingIsCompiledHere takes the machine code away: the module must be
// refused as stale, not compiled in this process.
func TestNothingIsCompiledHere(t *testing.T) {
	e := newTestEngine(t)
	image := returns(1)
	compile(t, e, image)
	key := e.entryKey(Options{ImageID: sumOf(image)})
	entry, err := e.disk.read(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, entry.code, []byte("WAZEVO and nothing that wazero knows"))
	if m, err := e.load(entry, true); err != errStale {
		t.Errorf("got %v, %v, want errStale", m, err)
	}
}
