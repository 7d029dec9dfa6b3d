package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jail"
	"github.com/joulebox/joulebox/internal/jail/execwatch"
	"github.com/joulebox/joulebox/internal/partition"
)

// nativeExecutor is the rung of native units: S1 for one that is trusted, S3 for
// one that isn't (§2.2). Both run it in a partition that is built from its grants.
type nativeExecutor struct{ tier joulebox.Tier }

func (x nativeExecutor) Tier() joulebox.Tier { return x.tier }

// Classes: native vector work can't be told from scalar work, so it counts as Cpu.
func (x nativeExecutor) Classes() []joulebox.DeviceClass { return []joulebox.DeviceClass{joulebox.CPU} }
func (x nativeExecutor) Counting() Counting              { return CountsCPUTime }

func (x nativeExecutor) Provides(need string) bool {
	return slices.Contains([]string{"storage", "storage.max_iops", "storage.max_read_bps", "process.exec", "host.clock", "host.random"}, need)
}

// Unavailable says why this host can't build a partition, if it can't.
func (x nativeExecutor) Unavailable() error {
	return partition.Unavailable()
}

// PartitionMechanisms says what this host has for native units. Of the two ways to
// watch what they start one is enough.
func PartitionMechanisms() (list []jail.Mechanism) {
	list = append(list, jail.Mechanism{Name: "control groups", Missing: partition.Unavailable(), Needed: jail.EveryProcess})
	for _, o := range execwatch.Survey() {
		list = append(list, jail.Mechanism{Name: "exec by " + string(o.Mechanism), Missing: o.Missing})
	}
	return list
}

// nativeRun is a native unit under way.
type nativeRun struct {
	job     Job
	begun   time.Time
	cell    *partition.Cell
	watch   *execwatch.Watch
	execs   *execs
	streams *nativeStreams
	done    chan struct{} // closed when exit and err are set

	seen atomic.Int64 // CPU time
	exit Exit
	err  error
}

// Start builds the partition and begins the program in it.
func (x nativeExecutor) Start(ctx context.Context, job Job) (Run, error) {
	if job.Native == nil {
		return nil, errors.New("BUG(joulebox): a native executor was handed no native unit")
	}
	spec, err := job.partition()
	if err != nil {
		return nil, err
	}
	r := &nativeRun{job: job, done: make(chan struct{})}
	r.execs = newExecs(job.Broker)
	spec.Sealed = r.execs.sealed
	if r.streams, err = newNativeStreams(job.Broker); err != nil {
		return nil, err
	}
	r.streams.into(&spec)
	spec.Held = r.hold
	r.begun = time.Now()
	if r.cell, err = partition.Start(ctx, spec); err != nil {
		r.streams.close()
		if r.watch != nil {
			_ = r.watch.Close()
		}
		return nil, r.notStarted(ctx, err)
	}
	r.execs.cell.Store(r.cell)
	r.streams.begin(ctx, r.cell, job.Limits.Wall)
	go r.run(ctx)
	return r, nil
}

// hold has every execve decided, from the first on.
func (r *nativeRun) hold(pid int) (err error) {
	o := execwatch.Options{Decide: r.execs.decide, Record: r.execs.record, Sealed: r.execs.sealed, Cache: execCache}
	// Which mechanism this host has is tried by using it: to try it out before costs as
	// much as a small run.
	if os.Geteuid() == 0 {
		if r.watch, err = execwatch.StartWith(execwatch.Fanotify, pid, o); err == nil {
			return nil
		}
	}
	if r.watch, err = execwatch.StartWith(execwatch.Ptrace, pid, o); err != nil {
		err = &partition.MissingError{What: "what a unit starts can't be watched", Err: err, Hint: "joulebox doctor says why"}
	}
	return err
}

// execCache spares reading the same programs for every unit.
var execCache = execwatch.NewCache()

// notStarted tells a program that can't be run as it is from a host that can't run
// it.
func (r *nativeRun) notStarted(ctx context.Context, err error) error {
	var start *partition.StartError
	var missing *partition.MissingError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &missing):
		return &RefusedError{Reason: "no partition could be built", Hint: missing.Hint, Err: err}
	case !errors.As(err, &start):
		return err
	}
	refused := &RefusedError{Reason: fmt.Sprintf("%s can't be started", r.job.Unit.Entrypoint[0]), Err: err}
	switch {
	case errors.Is(err, syscall.ENOENT):
		refused.Err = errors.Join(ErrNotFound, err)
		refused.Hint = "the program, or the interpreter or loader that it names, isn't in the unit's view; grant its folder with --read"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		refused.Err = errors.Join(ErrDenied, err)
	case errors.Is(err, syscall.ENOEXEC):
		refused.Hint = "it is no program for this machine; a script begins with #! and its interpreter"
	}
	return refused
}

// Used is the CPU time of the whole tree.
func (r *nativeRun) Used() (time.Duration, error) {
	used, err := r.cell.CPUTime()
	if err == nil {
		r.seen.Store(int64(used))
	}
	return used, err
}

// OutOfMemory reports that the unit's memory didn't suffice.
func (r *nativeRun) OutOfMemory() bool { return r.cell.OutOfMemory() }

// Kill ends the unit.
func (r *nativeRun) Kill() { r.cell.Kill() }

// run sees the unit to its end.
func (r *nativeRun) run(ctx context.Context) {
	defer close(r.done)
	ended := make(chan struct{})
	var breach joulebox.Breach
	var watchErr error
	var watching sync.WaitGroup
	watching.Go(func() { breach, watchErr = r.job.Limits.watch(ctx, r, runtime.NumCPU(), ended) })
	watching.Go(func() { r.endWithWatch(ended) })
	end, err := r.cell.Wait()
	close(ended)
	watching.Wait()
	watchingErr := r.watch.Close()
	r.streams.finish()
	if err = errors.Join(err, watchErr, watchingErr); err != nil {
		r.err = fmt.Errorf("native unit: %w", err)
		return
	}
	r.exit = r.exitOf(ctx, end, breach)
}

// endWithWatch ends a unit whose programs nobody decides any more.
func (r *nativeRun) endWithWatch(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-r.watch.Done():
		if r.watch.Err() != nil {
			r.cell.Kill()
		}
	}
}

func (r *nativeRun) exitOf(ctx context.Context, end partition.End, breach joulebox.Breach) (e Exit) {
	r.job.Broker.addNative(end)
	r.seen.Store(int64(end.Usage.CPUTime))
	e.Counts = Counts{CPUTime: end.Usage.CPUTime, Wall: time.Since(r.begun), PeakMemory: end.Usage.PeakMemory}
	switch left, over := r.job.Limits.left(end.Usage.CPUTime); {
	case end.OutOfMemory:
		e.Outcome = joulebox.Terminated(joulebox.BreachMemory)
	case breach != "":
		e.Outcome = joulebox.Terminated(breach)
	case end.Killed && ctx.Err() != nil:
		e.Outcome, e.Cause = joulebox.Failed, CauseCancelled
	case left <= 0: // it ended by itself, but not within its budget
		e.Outcome = joulebox.Terminated(over)
	case end.Signal != 0:
		e.Outcome, e.Signal = joulebox.Failed, end.Signal
	default:
		code := uint32(end.Code)
		e.Outcome, e.Code = joulebox.Completed, &code
		if code != 0 {
			e.Outcome = joulebox.Failed
		}
	}
	return e
}

// Wait returns once nothing of the unit is left.
func (r *nativeRun) Wait() (Exit, error) {
	<-r.done
	return r.exit, r.err
}

// Counts is what was seen last.
func (r *nativeRun) Counts() Counts {
	select {
	case <-r.done:
		return r.exit.Counts
	default:
		return Counts{CPUTime: time.Duration(r.seen.Load()), Wall: time.Since(r.begun)}
	}
}

// addNative puts what the kernel counted into the usage.
func (b *Broker) addNative(end partition.End) {
	b.counts.reads.Add(end.Usage.Reads)
	b.counts.readBytes.Add(end.Usage.ReadBytes)
	b.counts.writes.Add(end.Usage.Writes)
	b.counts.writtenBytes.Add(end.Usage.WrittenBytes)
	if end.Probing {
		b.probes.mu.Lock()
		b.probes.add(probePrivilege)
		b.probes.mu.Unlock()
	}
}
