//go:build !linux

package meter

import "runtime"

// OpenPerf has no such events on this system.
func OpenPerf(PerfEvent, int) (func() (uint64, error), error) {
	return nil, notMeasured("no performance counters of energy on %s", runtime.GOOS)
}
