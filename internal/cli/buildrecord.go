package cli

import (
	"context"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/ledger"
)

// record enters the build into the ledger, with what ran of it.
func (b *built) record(ctx context.Context) (*ledger.Signed, error) {
	intent := []byte(b.file.Intent)
	build := ledger.Build{Intent: joulebox.Sum(intent)}
	if _, err := b.house.store.Put(ctx, intent); err != nil {
		return nil, err
	}
	for _, run := range b.bundles {
		build.Steps = append(build.Steps, ledgerStep(run))
	}
	l, err := openLedger(true)
	if err != nil {
		return nil, err
	}
	defer l.close()
	return l.append(ctx, b.house.key, build)
}

// ledgerStep is a run's line in a build receipt.
func ledgerStep(b *bundle.Bundle) ledger.Step {
	f := b.Statement().Fields()
	s := ledger.Step{
		UnitID: f.UnitID, ImageID: f.ImageID, Tier: f.Tier, Outcome: f.Outcome,
		ReceiptID: f.ReceiptID, AttestationID: b.Statement().ID(), EAT: joulebox.Sum(b.EATToken()),
	}
	e := newEnergyRecord(b.Receipt().Devices())
	s.Total = ledger.Total{Measured: e.MeasuredUJ, Estimated: e.EstimatedUJ}
	return s
}
