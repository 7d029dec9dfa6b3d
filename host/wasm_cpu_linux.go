package host

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// holdThread keeps the calling goroutine on its thread and gives that thread's clock
// of CPU time, which others can read while it works. What it returns lets go.
func holdThread() (cpu func() time.Duration, release func()) {
	runtime.LockOSThread()
	const sched, perThread = 2, 4
	clock := clockID(^unix.Gettid()<<3 | perThread | sched)
	begun := clock.read()
	return func() time.Duration { return max(0, clock.read()-begun) }, runtime.UnlockOSThread
}
