package host

import (
	"context"
	"syscall"
	"time"

	"github.com/joulebox/joulebox/internal/wasi"
)

// Clock is where a broker takes time from.
type Clock interface {
	// Now has a monotonic reading.
	Now() time.Time
	// Wait lasts until ready is closed (true), d has passed, or ctx ends. A nil
	// ready never closes; a negative d never passes.
	Wait(ctx context.Context, d time.Duration, ready <-chan struct{}) bool
}

type hostClock struct{}

func (hostClock) Now() time.Time { return time.Now() }

func (hostClock) Wait(ctx context.Context, d time.Duration, ready <-chan struct{}) bool {
	var passed <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		passed = t.C
	}
	select {
	case <-ready:
		return true
	case <-passed:
	case <-ctx.Done():
	}
	return false
}

// What a unit without a clock grant reads (§7.5): one moment for all units on all
// hosts, and a monotonic clock that started a second before it.
const (
	epoch    = 1_735_689_600_000_000_000 // 2025-01-01T00:00:00Z in nanoseconds
	booted   = 1_000_000_000
	unitTime = 1 // nanoseconds that one metered unit stands for
	maxSlept = 1 << 62
)

// clockStep is how far a granted clock moves at a time, in nanoseconds. It is the same on
// every host: a finer one would tell what hardware this is, and what shares it.
const clockStep = 1000

// clock is a unit's view of time.
type clock struct {
	source  Clock
	granted bool
	began   time.Time
	slept   uint64 // nanoseconds that an ungranted clock was slept forward
}

func newClock(source Clock, granted bool) *clock {
	return &clock{source: source, granted: granted, began: source.Now()}
}

// wall is nanoseconds since 1970, constant when time isn't granted.
func (c *clock) wall() int64 {
	if !c.granted {
		return epoch
	}
	return c.source.Now().Truncate(clockStep).UnixNano()
}

// monotonic follows the host's clock, or the count of the unit's own work: the
// same on every host and in every run. Sleeping moves it on without taking time.
func (c *clock) monotonic(counted uint64) uint64 {
	if !c.granted {
		return booted + c.slept + counted*unitTime
	}
	return booted + uint64(max(c.source.Now().Sub(c.began), 0))/clockStep*clockStep
}

// resolution is a clock's step in nanoseconds. What counts work counts by one.
func (c *clock) resolution(id wasi.ClockID) uint64 {
	if c.granted && (id == wasi.ClockRealtime || id == wasi.ClockMonotonic) {
		return clockStep
	}
	return unitTime
}

func (c *clock) now(id wasi.ClockID, counted uint64) (uint64, error) {
	switch id {
	case wasi.ClockRealtime:
		return uint64(c.wall()), nil
	case wasi.ClockMonotonic:
		return c.monotonic(counted), nil
	case wasi.ClockProcessCPU, wasi.ClockThreadCPU:
		// The host's CPU time is the host's business: work counts as time here.
		return counted * unitTime, nil
	}
	return 0, syscall.EINVAL
}

// wait sleeps. Without a grant nothing is waited for: that would be a clock.
func (c *clock) wait(ctx context.Context, d time.Duration, ready <-chan struct{}) bool {
	if c.granted {
		return c.source.Wait(ctx, d, ready)
	}
	if d >= 0 {
		c.slept = min(c.slept+uint64(d), maxSlept)
		return false
	}
	return c.source.Wait(ctx, -1, ready)
}
