package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// pairs times ours and the peer in turn, so that whatever else the machine does
// falls on both, and keeps every pair.
type pairs struct {
	name       string
	ours, peer []time.Duration
}

// measure runs n pairs after one that warms caches. The order inside a pair
// alternates, so neither side always runs on the other's warm caches.
func measure(name string, n int, ours, peer func() (time.Duration, error)) (pairs, error) {
	p := pairs{name: name}
	for i := -1; i < n; i++ {
		first, second := ours, peer
		if i&1 == 1 {
			first, second = peer, ours
		}
		a, err := first()
		if err != nil {
			return p, fmt.Errorf("%s: %w", name, err)
		}
		b, err := second()
		if err != nil {
			return p, fmt.Errorf("%s: %w", name, err)
		}
		if i&1 == 1 {
			a, b = b, a
		}
		if i >= 0 {
			p.ours, p.peer = append(p.ours, a), append(p.peer, b)
		}
	}
	return p, nil
}

// ratio is the median of the pairs' ratios.
func (p pairs) ratio() float64 {
	r := make([]float64, len(p.ours))
	for i := range r {
		r[i] = float64(p.ours[i]) / float64(p.peer[i])
	}
	slices.Sort(r)
	return r[len(r)/2]
}

func (p pairs) print() {
	fmt.Printf("%-34s %12v %-17s %12v %-17s  x%.2f\n", p.name,
		median(p.ours), spread(p.ours), median(p.peer), spread(p.peer), p.ratio())
}

func header(title, ours, peer string) {
	fmt.Printf("\n%s\n%-34s %12s %-17s %12s %-17s  %s\n", title, "", ours, "(p10..p90)", peer, "(p10..p90)", "ratio")
}

func sorted(d []time.Duration) []time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s
}

func median(d []time.Duration) time.Duration { return short(sorted(d)[len(d)/2]) }

func spread(d []time.Duration) string {
	s := sorted(d)
	return fmt.Sprintf("(%v..%v)", short(s[len(s)/10]), short(s[len(s)*9/10]))
}

// short rounds to three significant digits or so.
func short(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	case d > 100*time.Microsecond:
		return d.Round(time.Microsecond)
	}
	return d.Round(10 * time.Nanosecond)
}

func geomean(all []pairs) float64 {
	sum := 0.0
	for _, p := range all {
		sum += math.Log(p.ratio())
	}
	return math.Exp(sum / float64(len(all)))
}

// clock times f.
func clock(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		err := f()
		return time.Since(start), err
	}
}
