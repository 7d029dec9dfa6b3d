package meter_test

import (
	"errors"
	"os"
	"testing"

	"github.com/joulebox/joulebox/meter"
)

// The kernel's own clock of a CPU is an event like those of energy, and is there on
// machines that have no counters of energy.
func TestOpenPerfReadsTheKernelsEvents(t *testing.T) {
	software := meter.PerfEvent{Type: 1, Config: 0}
	read, err := meter.OpenPerf(software, 0)
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("needs root: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for range 3 {
		n, err := read()
		if err != nil || n <= last {
			t.Errorf("got %d after %d, %v: the clock stands", n, last, err)
		}
		last = n
	}
	if _, err := meter.OpenPerf(meter.PerfEvent{Type: 1 << 30}, 0); err == nil {
		t.Error("an event that isn't there was opened")
	}
}
