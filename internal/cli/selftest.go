package cli

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"sync/atomic"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
	"github.com/joulebox/joulebox/unit"
)

// testUnit is (module (func (export "run") (result i32) (i32.const 0))).
var testUnit = []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x07\x07\x01\x03run\x00\x00\x0a\x06\x01\x04\x00\x41\x00\x0b")

// selfTest runs a unit that requires just this tier, whole: executor, meter,
// seal and verification, with a key and a store that nobody will see again.
func selfTest(ctx context.Context, tier joulebox.Tier) error {
	request := supervisor.Request{Image: testUnit, Entrypoint: []string{"run"}, Grants: grant.Empty(defaultBudgets)}
	request.Placement = unit.Placement{Trusted: tier < joulebox.S2}
	request.Grants.Host.Clock = tier == joulebox.S1
	if tier == joulebox.S3 {
		native, err := host.HostProgram("/bin/true")
		if err != nil {
			return fmt.Errorf("a program to try with: %w", err)
		}
		defer native.Close()
		request.Image, request.Native, request.Entrypoint = nil, native, []string{"/bin/true"}
	}
	s, done, err := throwaway()
	if err != nil {
		return err
	}
	defer done()
	plan, err := s.Plan(request)
	if err != nil {
		return err
	}
	record, err := s.Run(ctx, plan, host.BrokerConfig{})
	if err != nil {
		return err
	}
	if f := record.Bundle.Statement().Fields(); f.Tier != tier || f.Outcome != joulebox.Completed {
		return fmt.Errorf("the self-test ended at %s as %s, want %s and Completed", f.Tier, f.Outcome, tier)
	}
	return nil
}

func throwaway() (s *supervisor.Supervisor, done func(), err error) {
	table := meter.DefaultTable()
	return throwawayWith(table, supervisor.HostMeters(table))
}

func throwawayWith(table meter.Table, meters *supervisor.Meters) (s *supervisor.Supervisor, done func(), err error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, nil, err
	}
	engine, err := openEngine()
	if err != nil {
		return nil, nil, err
	}
	processes, err := hostJailed.open()
	if err != nil {
		return nil, nil, err
	}
	kept := store.NewMemory()
	var sequence atomic.Uint64
	s, err = supervisor.New(supervisor.Config{
		Signer: private, Sequence: func(context.Context) (uint64, error) { return sequence.Add(1), nil },
		Objects: kept, Log: kept, Executors: executors(engine, processes), Meters: meters.Find, Table: table, Ceilings: hostCeilings(),
	})
	return s, func() { _ = processes.Close(); _ = engine.Close() }, err
}
