package host

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
)

// burning is a tree that uses its processors fully.
type burning struct {
	begun  time.Time
	rate   int
	err    error
	killed bool
}

func (b *burning) Used() (time.Duration, error) {
	return time.Since(b.begun) * time.Duration(b.rate), b.err
}
func (b *burning) Kill() { b.killed = true }

func TestWatchEndsWhatPassesABudget(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		name   string
		limits Limits
		rate   int
		want   joulebox.Breach
	}{
		{"energy", Limits{CPU: 20 * time.Millisecond, Wall: 10 * second}, 2, joulebox.BreachEnergy},
		{"CPU time of the whole tree", Limits{CPU: 20 * second, Wall: 40 * time.Millisecond}, 4, joulebox.BreachTime},
		{"wall time", Limits{CPU: second, Wall: 20 * time.Millisecond}, 0, joulebox.BreachTime},
	} {
		b := &burning{begun: time.Now(), rate: c.rate}
		got, err := c.limits.watch(t.Context(), b, 2, nil)
		if err != nil || got != c.want || !b.killed {
			t.Errorf("%s: got %q, %v, killed %v", c.name, got, err, b.killed)
		}
	}
}

func TestWatchLeavesAlone(t *testing.T) {
	l := Limits{CPU: time.Hour, Wall: time.Hour}
	done := make(chan struct{})
	close(done)
	b := &burning{begun: time.Now(), rate: 1}
	if got, err := l.watch(t.Context(), b, 2, done); err != nil || got != "" || b.killed {
		t.Errorf("ended by itself: got %q, %v, killed %v", got, err, b.killed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := l.watch(ctx, b, 2, nil); err != nil || got != "" || !b.killed {
		t.Errorf("cancelled: got %q, %v, killed %v", got, err, b.killed)
	}
	b = &burning{begun: time.Now(), err: errors.New("no count")}
	if _, err := l.watch(t.Context(), b, 2, nil); err == nil || !b.killed {
		t.Errorf("what can't be counted must not go on: %v, killed %v", err, b.killed)
	}
}
