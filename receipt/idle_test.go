package receipt

import (
	"math"
	"testing"

	"github.com/joulebox/joulebox"
)

func TestIdleIsEstimated(t *testing.T) {
	e, err := Measured(joulebox.CPU, 100, 90).WithIdle(7)
	if m, ok := e.Measured(); err != nil || !ok || m != 100 || e.Estimated() != 97 || e.Provenance() != HwShunt {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := Estimated(joulebox.CPU, math.MaxUint64).WithIdle(1); err == nil {
		t.Error("an overflow is let through")
	}
}
