package host

import (
	"math"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
)

func TestSustainedRate(t *testing.T) {
	for _, tt := range []struct {
		perSecond, n uint64
		times        int
		want         time.Duration // of waiting, in all
	}{
		{10, 1, 101, 10 * time.Second},                         // 101 at 10/s, one of them in the burst
		{1000, 1, 1000, 900 * time.Millisecond},                // 100 in the burst
		{3, 1, 31, 10*time.Second + 233333333*time.Nanosecond}, // thirds add up
		{1 << 20, 1 << 20, 10, 9900 * time.Millisecond},
		{1, 1, 3, 2900 * time.Millisecond},
		{math.MaxUint64, 1, 100, 0},
	} {
		c := &fakeClock{now: time.Unix(1_800_000_000, 0)}
		r := newRate(c, grant.Ceilings{MaxIOPS: &tt.perSecond})
		for range tt.times {
			if err := r.take(t.Context(), r.ops, tt.n); err != nil {
				t.Fatal(err)
			}
		}
		if d := c.slept - tt.want; d < -time.Microsecond || d > time.Microsecond {
			t.Errorf("%d times %d at %d/s: waited %v, want %v", tt.times, tt.n, tt.perSecond, c.slept, tt.want)
		}
	}
}

func TestRateDoesntSaveUp(t *testing.T) {
	limit := uint64(10)
	c := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	r := newRate(c, grant.Ceilings{MaxReadBPS: &limit})
	r.bytes(t.Context(), 1)
	c.now = c.now.Add(time.Hour)
	c.slept = 0
	for range 11 {
		r.bytes(t.Context(), 1)
	}
	if c.slept != time.Second {
		t.Errorf("waited %v for 11 bytes at 10/s after an idle hour, want a second", c.slept)
	}
	if got := r.readLimit(); got != 10 {
		t.Errorf("readLimit: got %d, want a second's worth", got)
	}
	never := uint64(0)
	if d := (&bucket{perSecond: never}).take(c.now, 1); d != math.MaxInt64 {
		t.Errorf("at a rate of zero: got %v, want never", d)
	}
	none := newRate(c, grant.Ceilings{})
	if none.bytes(t.Context(), 1<<30) != nil || none.readLimit() != math.MaxInt {
		t.Error("without a ceiling something was held back")
	}
}
