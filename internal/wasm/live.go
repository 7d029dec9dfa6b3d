package wasm

import "sync/atomic"

// Live shows a run's counts while it goes on. It is brought up to date at every
// tick, so it lags by at most one slice; the Exit has the exact figures.
type Live struct {
	units, peak atomic.Uint64
}

// Reset makes it ready for another run.
func (l *Live) Reset() {
	l.units.Store(0)
	l.peak.Store(0)
}

// Units is how many units were used so far, host calls included.
func (l *Live) Units() uint64 { return l.units.Load() }

// PeakMemoryBytes is the most that memory and tables had so far.
func (l *Live) PeakMemoryBytes() uint64 { return l.peak.Load() }
