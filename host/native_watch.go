package host

import (
	"context"
	"time"

	"github.com/joulebox/joulebox"
)

// watched is what the budgets of a native unit are held against.
type watched interface {
	// Used is the CPU time of the whole tree, with what has ended in it.
	Used() (time.Duration, error)
	// Kill ends the tree.
	Kill()
}

// The bounds of how often a tree's CPU time is looked at.
const (
	leastWatch = 2 * time.Millisecond
	mostWatch  = 100 * time.Millisecond
)

// watch ends a native unit that passes a budget, and returns the breach; none when
// the unit has ended by itself, which done says, or when the caller has cancelled
// the run, which ctx says.
//
// A tree can't use more than all processors do, so what is left of its budget can't
// be gone sooner than that, and isn't looked at sooner.
func (l Limits) watch(ctx context.Context, w watched, processors int, done <-chan struct{}) (breach joulebox.Breach, err error) {
	wall := time.NewTimer(l.Wall)
	defer wall.Stop()
	for {
		used, err := w.Used()
		if err != nil {
			w.Kill()
			return "", err
		}
		left, breach := l.left(used)
		if left <= 0 {
			w.Kill()
			return breach, nil
		}
		next := time.NewTimer(min(max(left/time.Duration(processors), leastWatch), mostWatch))
		select {
		case <-next.C:
		case <-done:
			next.Stop()
			return "", nil
		case <-wall.C:
			next.Stop()
			w.Kill()
			return joulebox.BreachTime, nil
		case <-ctx.Done():
			next.Stop()
			w.Kill()
			return "", nil
		}
	}
}

// left is the CPU time until the first budget is gone, and that budget's name.
func (l Limits) left(used time.Duration) (time.Duration, joulebox.Breach) {
	left, breach := l.Wall-used, joulebox.BreachTime // cpu_time_ms bounds both
	if l.CPU > 0 && l.CPU < l.Wall {
		left, breach = l.CPU-used, joulebox.BreachEnergy
	}
	return left, breach
}
