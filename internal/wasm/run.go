package wasm

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// run is the state of one run. It is the context.Context that wazero hands back
// to host functions, so finding it is a type assertion. As a context it carries
// the memory allocator and nothing else: the caller's values are none of
// wazero's business, and its deadline is looked at by the ticks.
type run struct {
	context.Context

	module *Module
	limits Limits
	call   Call
	tank   tank
	mem    memory
	live   *Live
	watch  Watcher
	halt   *Halt

	caller     context.Context
	hostCtx    context.Context // what host functions get; made for the first of them
	cancelHost context.CancelFunc

	ended  *stop // the first ending that the host decided
	inHost bool  // a host function is running: an error now is the host's own
	guest  api.Module
	simd   api.Global
	stack  [1]uint64

	cpuBefore time.Duration // of this thread, when limits.CPU bounds the run
	cpuDue    time.Time     // before which limits.CPU can't be spent
}

// stop is an ending decided by the host.
type stop struct {
	cause Cause
	code  uint32
	trap  string
}

func (s *stop) Error() string { return s.cause.String() }

func newRun(ctx context.Context, m *Module, p Params) *run {
	r := &run{module: m, limits: p.Limits, caller: ctx, live: p.Live, watch: p.Watch, halt: p.Halt}
	r.Context = experimental.WithMemoryAllocator(context.Background(), &r.mem)
	r.call = Call{State: p.State, run: r}
	return r
}

// stop ends the run from within a host function; it doesn't return. The panic is
// wazero's way out of guest code, and wazero recovers it.
func (r *run) stop(s stop) {
	if r.ended == nil {
		r.ended = &s
	}
	panic(r.ended)
}

func (r *run) charge(units uint64) {
	if !r.tank.charge(units) {
		r.stop(stop{cause: OutOfFuel})
	}
}

func (r *run) memory() []byte { return r.mem.buf }

// tick is called by the guest when its counter is below zero.
func (r *run) tick(remaining int64) int64 {
	r.tank.fuel.Set(uint64(remaining)) // the code counts in a register
	if r.live != nil {                 // before the refill, of which nothing is used yet
		r.live.units.Store(r.tank.used())
		r.live.peak.Store(r.mem.peak)
	}
	r.look()
	refilled, ok := r.tank.refill(remaining)
	if !ok {
		r.stop(stop{cause: OutOfFuel})
	}
	return refilled
}

// look ends the run when the caller has cancelled it or its time is up.
func (r *run) look() {
	if r.halt != nil && r.tank.used() == r.halt.Units {
		r.stop(stop{cause: r.halt.Cause})
	}
	if r.caller.Err() != nil {
		r.stop(stop{cause: Cancelled})
	}
	now := time.Now()
	if !r.limits.Deadline.IsZero() && !now.Before(r.limits.Deadline) {
		r.stop(stop{cause: OutOfTime})
	}
	if r.limits.CPU > 0 && !now.Before(r.cpuDue) {
		r.lookCPU(now)
	}
}

// lookCPU asks for the processor time, which is a system call, and puts the next
// asking off: what is left of it can't be used up in less wall time than that.
func (r *run) lookCPU(now time.Time) {
	left := r.limits.CPU - (threadCPU() - r.cpuBefore)
	if left <= 0 {
		r.stop(stop{cause: OutOfCPU})
	}
	r.cpuDue = now.Add(left)
}

// hostContext is the caller's context with the run's deadline. Its timer also
// makes the look after each host call as cheap as an atomic load.
func (r *run) hostContext() context.Context {
	if r.hostCtx == nil {
		r.hostCtx, r.cancelHost = r.caller, func() {}
		if !r.limits.Deadline.IsZero() {
			r.hostCtx, r.cancelHost = context.WithDeadline(r.caller, r.limits.Deadline)
		}
	}
	return r.hostCtx
}

// callHost runs one host function and then looks whether the run may go on.
func (r *run) callHost(fn func(context.Context, *Call, []uint64), stack []uint64) {
	if !r.tank.settle() {
		r.stop(stop{cause: OutOfFuel})
	}
	r.inHost = true
	fn(r.hostContext(), &r.call, stack)
	r.inHost = false
	if r.ended != nil { // fn swallowed the panic that ended the run
		panic(r.ended)
	}
	if r.watch != nil {
		r.watch.Called(&r.call)
	}
	if r.limits.CPU > 0 || r.halt != nil {
		r.look()
	}
	if r.hostCtx.Err() != nil {
		r.look()
		r.stop(stop{cause: OutOfTime})
	}
}

func (r *run) close() {
	if r.guest != nil {
		_ = r.guest.Close(r) // nothing of ours in it can fail
	}
	r.mem.Free() // again, for an instantiation that failed half-way
	if r.cancelHost != nil {
		r.cancelHost()
	}
}
