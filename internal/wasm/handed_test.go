package wasm

import (
	"errors"
	"os"
	"testing"
)

// TestHandedRunsTheSame loads what another engine prepared: same exit, same
// counts, and nothing of the cache but one directory is needed.
func TestHandedRunsTheSame(t *testing.T) {
	e := newTestEngine(t)
	p, err := e.Prepare(t.Context(), computes(1000), Options{Metered: true})
	if err != nil {
		t.Fatal(err)
	}
	here := compile(t, e, computes(1000))
	want, err := here.Run(t.Context(), Params{Limits: enough()})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewLoader(nil).Load(p.Handed(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if !p.Unchanged() || p.Size() <= 0 {
		t.Errorf("unchanged %t, size %d", p.Unchanged(), p.Size())
	}
	got, err := m.Run(t.Context(), Params{Limits: enough()})
	if err != nil {
		t.Fatal(err)
	}
	want.WallTime, got.WallTime = 0, 0
	if got.Cause != want.Cause || got.Code != want.Code || got.FuelUsed != want.FuelUsed || got.Instructions != want.Instructions {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestHandedCodeThatChanges: whoever hands over notices.
func TestHandedCodeThatChanges(t *testing.T) {
	e := newTestEngine(t)
	p, err := e.Prepare(t.Context(), computes(10), Options{Metered: true})
	if err != nil {
		t.Fatal(err)
	}
	if !p.entry.hasCode() {
		t.Skip("no compiler for this processor")
	}
	code, err := os.ReadFile(p.entry.code)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.entry.code); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLoader(nil).Load(p.Handed(), true); !errors.Is(err, ErrGone) {
		t.Errorf("the code is removed: got %v, want ErrGone", err)
	}
	if err := os.WriteFile(p.entry.code, code, 0o600); err != nil {
		t.Fatal(err)
	}
	if p.Unchanged() {
		t.Error("another file of the same bytes passes for the one that was checked")
	}
	again, err := e.Prepare(t.Context(), computes(10), Options{Metered: true})
	if err != nil || !again.Unchanged() {
		t.Errorf("after that: %v", err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	e := newTestEngine(t, func(c *Config) { c.HostFuncs = nil })
	var refused *RefusedError
	if _, err := e.Prepare(t.Context(), hostCalls(1), Options{Metered: true}); !errors.As(err, &refused) || refused.Reason != RefusedImport {
		t.Errorf("got %v, want %s", err, RefusedImport)
	}
	if _, err := e.Prepare(t.Context(), []byte("no module"), Options{}); !errors.As(err, &refused) || refused.Reason != RefusedInvalid {
		t.Errorf("got %v, want %s", err, RefusedInvalid)
	}
}
