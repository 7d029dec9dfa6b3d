package meter

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the machine's time since it booted.
func Now() Instant { return Instant{clock(unix.CLOCK_MONOTONIC), clock(unix.CLOCK_BOOTTIME)} }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0 // these two clocks are always there
	}
	return time.Duration(t.Nano())
}
