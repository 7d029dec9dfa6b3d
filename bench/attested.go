package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

// runs is how many runs one sample times: single ones are noise.
const runs = 50

// attested times a whole attested run of a unit that does nothing, on a store on
// disk, against the least that any such record costs: the bare engine, three
// signatures, three verifications, and one append that is synced.
func attested(n int) error {
	dir, err := os.MkdirTemp(".", ".bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	ours, size, closeOurs, err := attestedRun(filepath.Join(dir, "ours"))
	if err != nil {
		return err
	}
	defer closeOurs()
	peer, closePeer, err := leastRun(filepath.Join(dir, "peer"), size)
	if err != nil {
		return err
	}
	defer closePeer()
	header("Attested run of an empty unit, record kept on disk", "joulebox", "the parts")
	p, err := measure("one run (of "+fmt.Sprint(runs)+")", n, times(ours), times(peer))
	if err == nil {
		p.print()
	}
	return err
}

// times is the mean time of one of a sample's calls.
func times(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		for range runs {
			if err := f(); err != nil {
				return 0, err
			}
		}
		return time.Since(start) / runs, nil
	}
}

// empty exports run: () -> i32, which returns 0.
var empty = []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x07\x07\x01\x03run\x00\x00\x0a\x06\x01\x04\x00\x41\x00\x0b")

func attestedRun(dir string) (run func() error, size int, done func(), err error) {
	return attestedRunOn(dir, host.S2)
}

// attestedRunOn is attestedRun on an executor of one's own.
func attestedRunOn(dir string, on func(*host.Engine) host.Executor) (run func() error, size int, done func(), err error) {
	ctx := context.Background()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, nil, err
	}
	key, _, err := custody.Ensure("file:"+filepath.Join(dir, "key"), false)
	if err != nil {
		return nil, 0, nil, err
	}
	disk, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, 0, nil, err
	}
	engine, err := host.NewEngine(host.EngineConfig{})
	if err != nil {
		return nil, 0, nil, err
	}
	table := meter.DefaultTable()
	s, err := supervisor.New(supervisor.Config{
		Signer: key, Sequence: key.Next, Objects: disk, Log: disk,
		Executors: []host.Executor{on(engine)},
		Meters:    supervisor.HostMeters(table).Find, Table: table,
	})
	if err != nil {
		return nil, 0, nil, err
	}
	request := supervisor.Request{Image: empty, Entrypoint: []string{"run"}, Grants: grant.Empty(grant.Compute{
		Devices: []joulebox.DeviceClass{joulebox.CPU}, EnergyBudgetUJ: 1 << 20, CPUTimeMS: 10_000, MemoryBytes: 1 << 20,
	})}
	once := func() ([]byte, error) {
		p, err := s.Plan(request)
		if err != nil {
			return nil, err
		}
		r, err := s.Run(ctx, p, host.BrokerConfig{})
		if err != nil {
			return nil, err
		}
		return r.Bundle.Marshal(), nil
	}
	data, err := once()
	return func() error { _, err := once(); return err }, len(data), func() { _ = engine.Close(); _ = disk.Close() }, err
}

// leastRun is what can't be left out, with nothing around it.
func leastRun(dir string, size int) (run func() error, done func(), err error) {
	ctx := context.Background()
	f, err := os.OpenFile(dir, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	r := wazero.NewRuntime(ctx)
	compiled, err := r.CompileModule(ctx, empty)
	if err != nil {
		return nil, nil, err
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, nil, err
	}
	record := make([]byte, size)
	return func() error {
		message := make([]byte, 500)
		m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			return err
		}
		if _, err := m.ExportedFunction("run").Call(ctx); err != nil {
			return err
		}
		if err := m.Close(ctx); err != nil {
			return err
		}
		for i := range 3 {
			message[0] = byte(i)
			if !ed25519.Verify(public, message, ed25519.Sign(private, message)) {
				return errors.New("a signature does not verify")
			}
		}
		if _, err := f.Write(record); err != nil {
			return err
		}
		return f.Sync()
	}, func() { _ = r.Close(ctx); _ = f.Close() }, nil
}
