//go:build !linux

package meter

import "time"

var begun = time.Now()

// Now is the time since the program began. No counter is read on this system that
// could miss a sleep.
func Now() Instant { d := time.Since(begun); return Instant{d, d} }
