package host

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm"
)

// wasmExecutor is the rung that a WASM engine makes. S0 to S2 share the engine;
// what differs is what the unit is given and whether its instructions are counted.
type wasmExecutor struct {
	engine  *wasm.Engine
	tier    joulebox.Tier
	metered bool
	needs   []string // what the rung has a mechanism for
}

func (x wasmExecutor) Tier() joulebox.Tier       { return x.tier }
func (x wasmExecutor) Provides(need string) bool { return slices.Contains(x.needs, need) }

func (x wasmExecutor) Classes() []joulebox.DeviceClass {
	return []joulebox.DeviceClass{joulebox.CPU, joulebox.SIMD}
}

func (x wasmExecutor) Counting() Counting {
	if x.metered {
		return CountsInstructions
	}
	return CountsCPUTime
}

// brokered are the members that the Broker is the mechanism for. Storage needs
// the kernel's path resolution beneath a descriptor, which Linux has.
func brokered() []string {
	needs := []string{"network.outbound", "kv", "host.logging", "host.clock", "host.random"}
	if runtime.GOOS == "linux" {
		needs = append(needs, "storage", "storage.max_iops", "storage.max_read_bps")
	}
	return needs
}

func (x wasmExecutor) Start(ctx context.Context, job Job) (Run, error) {
	image, id, entry, err := job.program()
	if err != nil {
		return nil, err
	}
	module, err := x.engine.Compile(ctx, image, wasm.Options{Metered: x.metered, ImageID: id, SIMDWeight: uint32(job.Limits.Vector)})
	if err != nil {
		return nil, refused(err)
	}
	if err := job.mayUse(module.Info().UsesSIMD); err != nil {
		module.Close()
		return nil, err
	}
	watch, err := job.record(id, entry, x.metered)
	if err != nil {
		module.Close()
		return nil, err
	}
	r := &wasmRun{job: job, watch: watch, entry: entry, module: module, begun: time.Now(), done: make(chan struct{})}
	go r.run(ctx)
	return r, nil
}

// mayUse refuses a module whose instructions need a class that isn't granted.
func (j Job) mayUse(simd bool) error {
	if !simd || slices.Contains(j.Devices, joulebox.SIMD) {
		return nil
	}
	return &RefusedError{
		Reason: "the module uses vector instructions and device class Simd isn't granted",
		Hint:   "grant it with --simd",
		Err:    ErrDenied,
	}
}

type wasmRun struct {
	job    Job
	entry  string
	module *wasm.Module
	watch  wasm.Watcher // nil without a journal
	begun  time.Time
	live   wasm.Live
	cpu    atomic.Pointer[func() time.Duration] // so far, once it runs

	done chan struct{} // closed when exit and err are set
	exit Exit
	err  error
}

func (r *wasmRun) run(ctx context.Context) {
	cpu, release := holdThread()
	defer release()
	defer close(r.done) // before the thread is let go, whose clock Counts reads
	defer r.module.Close()
	r.cpu.Store(&cpu)
	e, err := r.module.Run(ctx, wasm.Params{
		Entry:      r.entry,
		State:      r.job.Broker,
		Limits:     r.job.Limits.engine(r.begun),
		Live:       &r.live,
		Watch:      r.watch,
		MeasureCPU: true,
	})
	if err != nil {
		r.err = refused(err)
		return
	}
	r.exit = exitOf(e)
	r.exit.Counts = r.counts(e)
}

func (l Limits) engine(begun time.Time) wasm.Limits {
	return wasm.Limits{Fuel: l.Units, CPU: l.CPU, MemoryBytes: l.Memory, Deadline: begun.Add(l.Wall)}
}

func (r *wasmRun) Wait() (Exit, error) {
	<-r.done
	return r.exit, r.err
}

func (r *wasmRun) Counts() Counts {
	select {
	case <-r.done:
		return r.exit.Counts
	default:
		c := Counts{Units: r.live.Units(), PeakMemory: r.live.PeakMemoryBytes(), Wall: time.Since(r.begun)}
		if cpu := r.cpu.Load(); cpu != nil {
			c.CPUTime = (*cpu)()
		}
		return c
	}
}

func (r *wasmRun) counts(e wasm.Exit) Counts {
	return Counts{
		Units:        e.FuelUsed - e.SIMDInstructions*r.job.Limits.Vector,
		Vectors:      e.SIMDInstructions,
		Instructions: e.Instructions,
		CPUTime:      e.CPUTime,
		Wall:         e.WallTime,
		PeakMemory:   e.PeakMemoryBytes,
	}
}

// exitOf is the outcome of §7.1: exit code 0 is Completed, any other code or a
// trap is Failed, a budget is a breach without a code.
func exitOf(e wasm.Exit) Exit {
	switch e.Cause {
	case wasm.Returned, wasm.Exited:
		outcome := joulebox.Completed
		if e.Code != 0 {
			outcome = joulebox.Failed
		}
		return Exit{Outcome: outcome, Code: &e.Code}
	case wasm.OutOfFuel, wasm.OutOfCPU:
		return Exit{Outcome: joulebox.Terminated(joulebox.BreachEnergy)}
	case wasm.OutOfTime:
		return Exit{Outcome: joulebox.Terminated(joulebox.BreachTime)}
	case wasm.OutOfMemory:
		return Exit{Outcome: joulebox.Terminated(joulebox.BreachMemory)}
	case wasm.Cancelled:
		return Exit{Outcome: joulebox.Failed, Cause: CauseCancelled}
	}
	return Exit{Outcome: joulebox.Failed, Cause: CauseTrap, Detail: e.Trap}
}

// refused turns the engine's refusal of a module into the host's; faults of the
// host stay what they are.
func refused(err error) error {
	var r *wasm.RefusedError
	if !errors.As(err, &r) {
		return err
	}
	hint := ""
	switch r.Reason {
	case wasm.RefusedMemory:
		hint = "grant more with --memory"
	case wasm.RefusedEntry:
		return &RefusedError{Reason: "entry point", Hint: "name an export with --entry", Err: errors.Join(ErrNotFound, r)}
	}
	return &RefusedError{Reason: "the module is refused", Hint: hint, Err: r}
}
