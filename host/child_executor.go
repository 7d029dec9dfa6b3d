package host

import (
	"context"

	"github.com/joulebox/joulebox"
)

// ProcessConfig says how units are kept in host processes of their own.
type ProcessConfig struct {
	// Keep is how many processes are kept after a run for the next run of the same
	// unit. A process that waits draws power, which Idle books (§15); zero keeps
	// none.
	Keep int
	Idle Idle
}

// Jailed is an executor that runs the units of another one in host processes:
// re-executions of this program that hold no key, no meter and no network, and
// reach no file but what they were handed (§2.1). The supervisor in this process
// talks to each over one socket pair, believes nothing that it can check, and
// ends it for good at any breach, trap or nonsense.
func (p *Processes) Jailed(inner Executor) Executor {
	x, ok := inner.(wasmExecutor)
	if !ok {
		return inner // it isn't an engine's
	}
	return jailed{x, p}
}

type jailed struct {
	inner     wasmExecutor
	processes *Processes
}

func (x jailed) Tier() joulebox.Tier             { return x.inner.Tier() }
func (x jailed) Classes() []joulebox.DeviceClass { return x.inner.Classes() }
func (x jailed) Counting() Counting              { return x.inner.Counting() }
func (x jailed) Provides(need string) bool {
	return x.inner.Provides(need) && x.processes.provides(need)
}

// Unavailable says why this host can't establish the tier, if it can't.
func (x jailed) Unavailable() error { return x.processes.unavailable() }

func (x jailed) Start(ctx context.Context, job Job) (Run, error) {
	return x.processes.start(ctx, x.inner, job)
}

// Unavailable is what an executor has that may not be able to run anything on
// this host. Such a tier isn't offered (§9).
type Unavailable interface{ Unavailable() error }
