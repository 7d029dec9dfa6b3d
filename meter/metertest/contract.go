// Package metertest is the contract that every meter passes.
package metertest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
)

// Contract runs a meter through what its users rely on: a named device, a
// record of its own class in which provenance and figures fit (§6.3), figures
// that don't fall while the counts grow, and spans that don't share state.
func Contract(t *testing.T, m meter.Meter) {
	t.Run("identity", func(t *testing.T) { identity(t, m) })
	t.Run("monotonic", func(t *testing.T) { monotonic(t, m) })
	t.Run("concurrent", func(t *testing.T) { concurrent(t, m) })
}

func identity(t *testing.T, m meter.Meter) {
	id := m.Identity()
	if id.Class != m.Class() {
		t.Errorf("identity is of class %s, the meter of %s", id.Class, m.Class())
	}
	if id.Model == "" || id.Driver == "" {
		t.Errorf("identity %+v: a run that used the class must record model and driver (§7.2)", id)
	}
}

func grow(steps *atomic.Uint64) meter.Counts {
	n := steps.Add(1)
	return meter.Counts{Units: n * 1_000_000, Vectors: n * 1000, CPUTime: time.Duration(n) * time.Millisecond}
}

func monotonic(t *testing.T, m meter.Meter) {
	var steps atomic.Uint64
	span, err := m.Begin(t.Context(), func() meter.Counts { return grow(&steps) })
	if err != nil {
		t.Fatal(err)
	}
	var last receipt.Energy
	for range 20 {
		e, used, err := span.Read()
		if err != nil {
			t.Fatal(err)
		}
		check(t, m, e)
		if !used {
			t.Error("the class has counts, but Read says that it was not used")
		}
		if e.Estimated() < last.Estimated() {
			t.Errorf("the estimate fell from %d to %d", last.Estimated(), e.Estimated())
		}
		last = e
	}
	if last.Estimated() == 0 {
		t.Error("work was done and nothing estimated: no work is free")
	}
	if err := span.Close(); err != nil {
		t.Error(err)
	}
}

func check(t *testing.T, m meter.Meter, e receipt.Energy) {
	t.Helper()
	if e.Class() != m.Class() {
		t.Errorf("record of class %s from a meter of %s", e.Class(), m.Class())
	}
	_, measured := e.Measured()
	if measured != (e.Provenance() == receipt.HwShunt) {
		t.Errorf("provenance %v with measured=%v (§6.3)", e.Provenance(), measured)
	}
}

func concurrent(t *testing.T, m meter.Meter) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			fixed := meter.Counts{Units: 5_000_000, Vectors: 7, CPUTime: time.Second}
			span, err := m.Begin(t.Context(), func() meter.Counts { return fixed })
			if err != nil {
				t.Error(err)
				return
			}
			first, _, err1 := span.Read()
			second, _, err2 := span.Read()
			if err1 != nil || err2 != nil || second.Estimated() < first.Estimated() {
				t.Errorf("a run cost %d, then %d (%v, %v)", first.Estimated(), second.Estimated(), err1, err2)
			}
			if err := span.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
