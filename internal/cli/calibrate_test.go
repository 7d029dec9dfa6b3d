package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

// inThisProcess runs workloads beside the test, which is no program that could be
// started as a host process.
func inThisProcess(t *testing.T) func(context.Context, []byte) (meter.Sample, error) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	engine, err := openEngine()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	table, kept := meter.DefaultTable(), store.NewMemory()
	meters := supervisor.NewMeters(table, func() (*meter.Node, error) { return nil, meter.ErrNotMeasured })
	var sequence atomic.Uint64
	s, err := supervisor.New(supervisor.Config{
		Signer: private, Sequence: func(context.Context) (uint64, error) { return sequence.Add(1), nil },
		Objects: kept, Log: kept, Executors: executors(engine, nil), Meters: meters.Find, Table: table, Ceilings: hostCeilings(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return runWith(s)
}

// Every workload ends by itself, counts the same each time, and each class has some
// that use it.
func TestWorkloads(t *testing.T) {
	k := calibrator{inThisProcess(t)}
	vectors := 0
	for _, w := range append(fitted[:len(fitted):len(fitted)], held...) {
		s, err := k.once(t.Context(), w, 1000)
		again, err2 := k.once(t.Context(), w, 1000)
		if err != nil || err2 != nil || s.Units < 5000 || again.Units != s.Units || again.Vectors != s.Vectors {
			t.Errorf("%s: %+v, then %+v (%v, %v)", w.name, s, again, err, err2)
		}
		if s.Vectors >= 2000 {
			vectors++
		}
	}
	if vectors != 3 {
		t.Errorf("%d workloads are of vectors, want 3", vectors)
	}
}

// On a machine that takes 700 pJ an instruction and five times that a vector
// instruction, at 5 W, and at which the counter is off by one percent now and then.
func TestCalibrationFindsTheMachine(t *testing.T) {
	run := inThisProcess(t)
	turn := uint64(0)
	k := calibrator{func(ctx context.Context, module []byte) (meter.Sample, error) {
		s, err := run(ctx, module)
		turn++
		pj := (s.Units + 5*s.Vectors) * 700
		s.Energy = joulebox.Microjoules((pj + pj/100*(turn%2)) / 1_000_000)
		s.CPUTime = time.Duration(pj / 5000)
		return s, err
	}}
	c := silent(t)
	m, err := c.fit(t.Context(), calibrateFlags{seconds: 0.1}, k, "a processor")
	if err != nil {
		t.Fatal(err)
	}
	if m.PicojoulesPerUnit < 690 || m.PicojoulesPerUnit > 715 || m.UnitsPerVector != 5 || m.MicrojoulesPerCPUSecond < 4_900_000 || m.MicrojoulesPerCPUSecond > 5_100_000 {
		t.Errorf("got %+v, want 700 pJ, 5 and 5 W", m)
	}
	if m.Source != meter.SourceCounter || len(m.Validation) != len(held) || m.ErrorPermille > 20 {
		t.Errorf("got %+v, want a validation within 2 %%", m)
	}
}

func TestCalibrationSaysWhatFailed(t *testing.T) {
	k := calibrator{func(context.Context, []byte) (meter.Sample, error) {
		return meter.Sample{}, errors.New("the lights went out")
	}}
	_, err := silent(t).fit(t.Context(), calibrateFlags{seconds: 1}, k, "x")
	if err == nil || !strings.Contains(err.Error(), "arithmetic: the lights went out") {
		t.Errorf("got %v", err)
	}
}

func silent(t *testing.T) *console {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return newConsole(f, f, f)
}
