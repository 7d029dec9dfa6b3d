package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruption is why a context was cancelled: a signal to this process.
type interruption struct{ signal syscall.Signal }

func (i interruption) Error() string { return i.signal.String() }

// withSignals returns a context that the first Ctrl-C or SIGTERM cancels, so
// that the run can end and be recorded; a second one ends this process at once.
func withSignals() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if s, ok := <-signals; ok {
			signal.Stop(signals)
			cancel(interruption{s.(syscall.Signal)})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// interruptedBy is the number of the signal that cancelled ctx.
func interruptedBy(ctx context.Context) int {
	if i, ok := context.Cause(ctx).(interruption); ok {
		return int(i.signal)
	}
	return int(syscall.SIGINT)
}
