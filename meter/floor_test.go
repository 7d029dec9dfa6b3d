package meter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/joulebox/joulebox/meter"
)

func TestIdlePowerIsTheLeast(t *testing.T) {
	counter := &simulated{}
	at := meter.Instant{}
	watts := []uint64{70, 40, 55}
	sleep := func(_ context.Context, d time.Duration) error {
		at.Awake, at.Real = at.Awake+d, at.Real+d
		w := watts[0]
		watts = append(watts[1:], w)
		counter.draw([2]uint64{w * 500_000, w * 500_000})
		return nil
	}
	now := func() meter.Instant { return at }
	if got, err := meter.IdlePower(t.Context(), counter, 3, now, sleep); err != nil || got != 40_000 {
		t.Errorf("got %d mW, %v, want 40000", got, err)
	}
	stuck := func(_ context.Context, d time.Duration) error { at.Awake, at.Real = at.Awake+d, at.Real+d; return nil }
	if got, err := meter.IdlePower(t.Context(), counter, 3, now, stuck); !errors.Is(err, meter.ErrNotMeasured) {
		t.Errorf("a counter that stands gives %d mW, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := meter.IdlePower(ctx, counter, 3, now, meter.Sleep); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
}
