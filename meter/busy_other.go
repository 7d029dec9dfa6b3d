//go:build !linux

package meter

import (
	"fmt"
	"runtime"
	"time"
)

// BusyCPU has no source on this system.
func BusyCPU() (time.Duration, error) {
	return 0, fmt.Errorf("%w: no source of busy CPU time on %s", ErrNotMeasured, runtime.GOOS)
}
