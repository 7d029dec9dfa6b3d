package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// instanceConfig gives wazero nothing to hand on: an instance has no name, no
// start function that runs unseen, and no system.
var instanceConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(nothing{})

// nothing stands for wazero's source of random bytes, which nobody asks: its own
// one is made anew for each instance, and has five kilobytes of state.
type nothing struct{}

func (nothing) Read([]byte) (int, error) {
	return 0, errors.New("BUG(joulebox): wazero's own system was asked for random bytes")
}

// Run makes an instance of the module, runs its entry function in it and closes
// it. It returns once nothing of the run is left, at the latest one slice and one
// host call after the deadline or the end of ctx.
//
// A run that was refused before anything of it ran gives a *RefusedError, and a
// fault of the host an *InternalError; every other ending is an Exit.
func (m *Module) Run(ctx context.Context, p Params) (exit Exit, err error) {
	if !m.holdIfOpen() {
		return Exit{}, errClosed
	}
	defer m.release()
	entry, err := m.entry(p.Entry)
	if err != nil {
		return Exit{}, err
	}
	if p.Limits, err = m.limits(p.Limits); err != nil {
		return Exit{}, err
	}
	r := newRun(ctx, m, p)
	defer r.close()
	if refused := r.mem.init(r, m.info); refused != nil {
		return Exit{}, refused
	}
	clock := startClock(p.MeasureCPU || p.Limits.CPU > 0)
	r.cpuBefore = clock.cpu
	err = r.execute(m.calls(entry))
	exit, err = r.verdict(err)
	clock.stop(&exit)
	if r.watch != nil && err == nil {
		r.watch.Ended(&r.call, exit)
	}
	return exit, err
}

func (m *Module) limits(l Limits) (Limits, error) {
	if m.metered && l.Fuel == 0 {
		return l, errors.New("wasm engine: limits: fuel is 0, want at least 1: nothing could run")
	}
	if !m.metered {
		l.Fuel = math.MaxInt64
	}
	if l.Slice == 0 {
		l.Slice = DefaultSlice
	}
	if l.StackWords == 0 {
		l.StackWords = DefaultStackWords
	}
	return l, nil
}

// execute instantiates the module and calls functions in it, until one of them
// ends the run.
func (r *run) execute(calls []string) (err error) {
	defer func() {
		if p := recover(); p != nil && p != any(r.ended) {
			err = fmt.Errorf("panic: %v", p) // wazero recovers what guests and host functions do
		}
	}()
	if why := r.module.info.TrapsAtStart; why != "" {
		trap, _, _ := strings.Cut(why, ":")
		r.stop(stop{cause: Trapped, trap: trap})
	}
	r.look()
	if r.guest, err = r.module.runtime.InstantiateModule(r, r.module.compiled, instanceConfig); err != nil {
		return err
	}
	r.fill()
	for _, name := range calls {
		if err = r.guest.ExportedFunction(name).CallWithStack(r, r.stack[:]); err != nil {
			return err
		}
	}
	return nil
}

// fill hands the guest its first slice of fuel and its stack allowance.
func (r *run) fill() {
	fuel, _ := r.guest.ExportedGlobal(exportFuel).(api.MutableGlobal)
	r.tank.init(r.limits.Fuel, r.limits.Slice, fuel)
	r.simd = r.guest.ExportedGlobal(exportSIMD)
	if stack, ok := r.guest.ExportedGlobal(exportStack).(api.MutableGlobal); ok {
		stack.Set(r.limits.StackWords)
	}
}

// verdict says how the run ended. What the host decided comes first, whatever
// else went wrong after it.
func (r *run) verdict(err error) (Exit, error) {
	exit := Exit{Cause: Returned, PeakMemoryBytes: r.mem.peak}
	if !r.tank.settle() && r.ended == nil {
		r.ended = &stop{cause: OutOfFuel}
	}
	switch {
	case r.ended != nil:
		exit.Cause, exit.Code, exit.Trap = r.ended.cause, r.ended.code, r.ended.trap
		if exit.Cause == Trapped && err != nil {
			exit.Trace = r.module.trace(err)
		}
	case err == nil:
		exit.Code = uint32(r.stack[0]) // what the entry returned, or still zero
	default:
		trap, ok := trapName(err)
		if r.guest == nil {
			trap, ok = instantiateTrap(err)
		}
		if !ok || r.inHost {
			return Exit{}, &InternalError{err}
		}
		exit.Cause, exit.Trap, exit.Trace = Trapped, trap, r.module.trace(err)
		if trap != trapUnreachable { // before which the code puts its count down
			r.tank.forfeit()
		}
	}
	if r.module.metered {
		exit.FuelUsed = r.tank.used()
		exit.Instructions = exit.FuelUsed - r.tank.charged
	}
	if r.simd != nil {
		exit.SIMDInstructions = r.simd.Get()
	}
	return exit, nil
}

// clock measures a run. The processor time is that of the run's thread, so the
// run keeps its thread for as long.
type clock struct {
	wall time.Time
	cpu  time.Duration
	on   bool
}

func startClock(cpu bool) clock {
	c := clock{on: cpu}
	if cpu {
		runtime.LockOSThread()
		c.cpu = threadCPU()
	}
	c.wall = time.Now()
	return c
}

func (c clock) stop(exit *Exit) {
	exit.WallTime = time.Since(c.wall)
	if c.on {
		exit.CPUTime = threadCPU() - c.cpu
		runtime.UnlockOSThread()
	}
}
