package meter

import (
	"context"
	"time"
)

// idleWindow is long enough for a counter that drivers poll, and short enough that
// a few of them find a moment at which nobody works.
const idleWindow = time.Second

// IdlePower watches a counter for some windows of a second, in milliwatts: the
// least that the machine drew. Sleep waits, and Now says when it is.
func IdlePower(ctx context.Context, c Counter, windows int, now func() Instant, sleep func(context.Context, time.Duration) error) (milliwatts uint64, err error) {
	g := newGauge(c.Domains())
	for i := range windows + 1 {
		if i > 0 {
			if err := sleep(ctx, idleWindow); err != nil {
				return 0, err
			}
		}
		before := g.at
		values, err := c.Read()
		if err != nil {
			return 0, err
		}
		drawn, err := g.step(now(), values)
		if err != nil {
			return 0, err
		}
		var uj uint64
		for j, d := range drawn {
			if d == 0 {
				return 0, notMeasured("%s did not move in %v", g.domains[j].Key, idleWindow)
			}
			uj += d
		}
		if length := uint64((g.at.Awake - before.Awake) / time.Microsecond); i > 0 && length > 0 {
			// Microjoules by microseconds are watts.
			mw, err := scaleDown(uj, 1000, length)
			if err != nil {
				return 0, err
			}
			if milliwatts == 0 || uint64(mw) < milliwatts {
				milliwatts = uint64(mw)
			}
		}
	}
	return milliwatts, nil
}

// Sleep waits, or ends with the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
