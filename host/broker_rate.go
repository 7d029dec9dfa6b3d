package host

import (
	"context"
	"math"
	"math/bits"
	"time"

	"github.com/joulebox/joulebox/grant"
)

// rate holds a unit to its sustained I/O ceilings (§5.2). What is too early
// waits; waiting counts against the unit's wall time.
type rate struct {
	clock     Clock
	ops, read *bucket
}

func newRate(c Clock, limits grant.Ceilings) *rate {
	r := &rate{clock: c}
	if limits.MaxIOPS != nil {
		r.ops = &bucket{perSecond: *limits.MaxIOPS}
	}
	if limits.MaxReadBPS != nil {
		r.read = &bucket{perSecond: *limits.MaxReadBPS}
	}
	return r
}

// operation waits until one more operation is due.
func (r *rate) operation(ctx context.Context) error { return r.take(ctx, r.ops, 1) }

// bytes waits until n bytes that were read are paid for.
func (r *rate) bytes(ctx context.Context, n int) error { return r.take(ctx, r.read, uint64(n)) }

// readLimit is how much one read may bring: a second's worth, so that a large
// read comes in parts and not after minutes.
func (r *rate) readLimit() int {
	if r.read == nil {
		return math.MaxInt
	}
	return int(min(max(r.read.perSecond, 1), math.MaxInt32))
}

func (r *rate) take(ctx context.Context, b *bucket, n uint64) error {
	if b == nil || n == 0 {
		return nil
	}
	if d := b.take(r.clock.Now(), n); d > 0 {
		r.clock.Wait(ctx, d, nil)
	}
	return ctx.Err()
}

// burst is how far a unit may run ahead of its rate: short, since a ceiling is
// there to bound a channel and not an average (§2.4).
const burst = time.Second / 10

// bucket is a rate in integers (§4: no floats in a decision). free is when all
// that was taken is paid for.
type bucket struct {
	perSecond uint64
	free      time.Time
	rest      uint64 // what the last division left, in n*1e9 mod perSecond
}

// take takes n and says how long to wait. A rate of zero never comes due.
func (b *bucket) take(now time.Time, n uint64) time.Duration {
	if b.perSecond == 0 {
		return math.MaxInt64
	}
	if early := now.Add(-burst); b.free.Before(early) {
		b.free, b.rest = early, 0
	}
	hi, lo := bits.Mul64(n, uint64(time.Second))
	lo, carry := bits.Add64(lo, b.rest, 0)
	hi += carry
	if hi >= b.perSecond {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, b.perSecond)
	if q > math.MaxInt64/2 {
		return math.MaxInt64
	}
	b.rest = rest
	b.free = b.free.Add(time.Duration(q))
	return b.free.Sub(now)
}
