package host

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jail"
	"github.com/joulebox/joulebox/internal/jail/cell"
	"github.com/joulebox/joulebox/internal/jail/execwatch"
	"github.com/joulebox/joulebox/internal/netstack"
)

// nativeExecutor is the rung of native units: S1 for one that is trusted, S3 for
// one that isn't (§2.2). Both run it in a partition that is built from its grants.
type nativeExecutor struct{ tier joulebox.Tier }

func (x nativeExecutor) Tier() joulebox.Tier { return x.tier }

// Classes: native vector work can't be told from scalar work, so it counts as Cpu.
func (x nativeExecutor) Classes() []joulebox.DeviceClass { return []joulebox.DeviceClass{joulebox.CPU} }
func (x nativeExecutor) Counting() Counting              { return CountsCPUTime }

func (x nativeExecutor) Provides(need string) bool {
	return slices.Contains([]string{"storage", "storage.max_iops", "storage.max_read_bps", "network.outbound", "network.inbound", "process.exec",
		"host.clock", "host.random"}, need)
}

// Unavailable says why this host can't build a cell, if it can't.
func (x nativeExecutor) Unavailable() error { return cellUnavailable() }

var cellUnavailable = sync.OnceValue(cell.Unavailable)

// PartitionMechanisms says what this host has for native units. Of the two ways to
// watch what they start one is enough.
func PartitionMechanisms() (list []jail.Mechanism) {
	list = cell.Survey()
	for _, o := range execwatch.Survey() {
		list = append(list, jail.Mechanism{Name: "exec by " + string(o.Mechanism), Missing: o.Missing})
	}
	return list
}

// nativeRun is a native unit under way.
type nativeRun struct {
	job     Job
	begun   time.Time
	cell    *cell.Cell
	watch   *execwatch.Watch
	execs   *execs
	streams *nativeStreams
	network *netstack.Stack   // nil without a grant
	denying *netstack.Nowhere // nil with one
	done    chan struct{}     // closed when exit and err are set

	seen atomic.Int64 // CPU time
	exit Exit
	err  error
}

// Start builds the partition and begins the program in it.
func (x nativeExecutor) Start(ctx context.Context, job Job) (Run, error) {
	if job.Native == nil {
		return nil, errors.New("BUG(joulebox): a native executor was handed no native unit")
	}
	if job.Learner != nil && x.tier != joulebox.S1 {
		return nil, errors.New("BUG(joulebox): only what is trusted is watched instead of held")
	}
	spec, release, err := job.cellSpec()
	if err != nil {
		return nil, err
	}
	defer release()
	r := &nativeRun{job: job, done: make(chan struct{})}
	r.execs = newExecs(job)
	spec.NoExec = r.execs.sealed
	if job.Learner != nil {
		spec.Observe = job.Learner.seen
	}
	inside := within{Sealed: r.execs.sealed, Mechanism: execMechanism()}
	if inside.Network, err = job.network(&spec); err != nil {
		return nil, err
	}
	spec.Network, spec.Exec = inside.text(), inside.text()
	r.nowhere(&spec)
	if r.streams, err = newNativeStreams(job.Broker); err != nil {
		return nil, err
	}
	r.streams.into(&spec)
	spec.Hold = r.hold
	r.begun = time.Now()
	if r.cell, err = cell.Start(ctx, spec); err != nil {
		r.streams.close()
		if r.watch != nil {
			_ = r.watch.Close()
		}
		return nil, r.notStarted(ctx, err)
	}
	r.execs.cell.Store(r.cell)
	if err = r.serveNetwork(); err != nil {
		r.cell.Kill("it has no network")
		_, _ = r.cell.Wait()
		_ = r.watch.Close()
		r.streams.close()
		return nil, err
	}
	r.streams.begin(ctx, r.cell, job.Limits.Wall)
	go r.run(ctx)
	return r, nil
}

// hold has every execve decided, from the first on.
func (r *nativeRun) hold(pid int) (err error) {
	o := execwatch.Options{Decide: r.execs.decide, Record: r.execs.record, Sealed: r.execs.sealed, Cache: execCache}
	if r.watch, err = execwatch.StartWith(execMechanism(), pid, o); err != nil {
		err = &RefusedError{Reason: "what a unit starts can't be watched", Hint: "joulebox doctor says why", Err: err}
	}
	return err
}

// execMechanism is what this host can watch with. As root it is the kernel's own
// asking, which is only used: to try it out before costs as much as a small run.
var execMechanism = sync.OnceValue(func() execwatch.Mechanism {
	if os.Geteuid() == 0 && inFirstUserNamespace() {
		return execwatch.Fanotify
	}
	return execwatch.Ptrace
})

// inFirstUserNamespace reports whether root here is root of the machine.
func inFirstUserNamespace() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	words := strings.Fields(string(text))
	return err == nil && len(words) == 3 && words[0] == "0" && words[1] == "0" && words[2] == "4294967295"
}

// execCache spares reading the same programs for every unit.
var execCache = execwatch.NewCache()

// notStarted tells a program that can't be run as it is from a host that can't run
// it.
func (r *nativeRun) notStarted(ctx context.Context, err error) error {
	var missing *jail.MissingError
	var path *os.PathError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &missing):
		return &RefusedError{Reason: "no cell could be built", Hint: "joulebox doctor shows what is missing", Err: err}
	case !errors.As(err, &path) || path.Op != "exec":
		return err
	case r.execs.refused.Load() != nil:
		return r.execs.refusal(r.job)
	}
	refused := &RefusedError{Reason: fmt.Sprintf("%s can't be started", r.job.Unit.Entrypoint[0]), Err: path.Err}
	switch {
	case errors.Is(err, syscall.ENOENT):
		refused.Err = errors.Join(ErrNotFound, path.Err)
		refused.Hint = "the program, or the interpreter or loader that it names, isn't in the unit's view; grant its folder with --read"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		refused.Err = errors.Join(ErrDenied, path.Err)
	case errors.Is(err, syscall.ENOEXEC):
		refused.Hint = "it is no program for this machine; a script begins with #! and its interpreter"
	}
	return refused
}

// Used is the CPU time of the whole tree.
func (r *nativeRun) Used() (time.Duration, error) {
	u, err := r.cell.Usage()
	r.job.Learner.count(r.cell)
	if err == nil {
		r.seen.Store(int64(u.CPU))
	}
	return u.CPU, err
}

// Kill ends the unit.
func (r *nativeRun) Kill() { r.cell.Kill("its budget") }

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
	wall := time.Since(r.begun)
	close(ended)
	networkErr := r.endNetwork(ctx, end)
	watching.Wait()
	watchingErr := r.watch.Close()
	r.streams.finish()
	if r.execs.refused.Load() != nil { // a tracer ends what it refuses
		r.err = r.execs.refusal(r.job)
		return
	}
	if err = errors.Join(err, watchErr, watchingErr, networkErr); err != nil {
		r.err = fmt.Errorf("native unit: %w", err)
		return
	}
	r.exit = r.exitOf(ctx, end, breach)
	r.exit.Counts.Wall = wall
}

// endWithWatch ends a unit whose programs nobody decides any more.
func (r *nativeRun) endWithWatch(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-r.watch.Done():
		if r.watch.Err() != nil {
			r.cell.Kill("nobody decides about its programs")
		}
	}
}

func (r *nativeRun) exitOf(ctx context.Context, end cell.End, breach joulebox.Breach) (e Exit) {
	r.job.Broker.addNative(end)
	r.seen.Store(int64(end.Usage.CPU))
	e.Counts = Counts{CPUTime: end.Usage.CPU, PeakMemory: end.Usage.Memory}
	switch left, over := r.job.Limits.left(end.Usage.CPU); {
	case end.Changed != "":
		e.Outcome, e.Detail = joulebox.Terminated(joulebox.PrivilegeEscal), end.Changed
	case end.OOM:
		e.Outcome = joulebox.Terminated(joulebox.BreachMemory)
	case breach != "":
		e.Outcome = joulebox.Terminated(breach)
	case end.Killed != "" && ctx.Err() != nil:
		e.Outcome, e.Cause = joulebox.Failed, CauseCancelled
	case left <= 0: // it ended by itself, but not within its budget
		e.Outcome = joulebox.Terminated(over)
	case end.Code == nil:
		e.Outcome, e.Signal = joulebox.Failed, uint32(end.Signal)
	default:
		e.Outcome, e.Code = joulebox.Completed, end.Code
		if *end.Code != 0 {
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
func (b *Broker) addNative(end cell.End) {
	b.counts.reads.Add(end.Usage.Reads)
	b.counts.readBytes.Add(end.Usage.ReadBytes)
	b.counts.writes.Add(end.Usage.Writes)
	b.counts.writtenBytes.Add(end.Usage.WriteBytes)
	b.probes.mu.Lock()
	defer b.probes.mu.Unlock()
	for _, p := range end.Probing {
		kind := probePrivilege // a call
		if strings.HasPrefix(p, "/") {
			if kind = probeKind(p); kind == "" {
				continue
			}
		}
		b.probes.add(kind)
	}
}

// within is what the cell's first process is told to do for the units of this
// package.
type within struct {
	Sealed    bool
	Mechanism execwatch.Mechanism
	Network   []byte // for netstack; empty without a grant
}

func (w within) text() []byte {
	b, err := json.Marshal(w)
	if err != nil {
		panic("BUG(joulebox): " + err.Error())
	}
	return b
}

// cellInside is done in the first process of each cell.
var cellInside = cell.Inside{
	Network: func(config []byte) ([]*os.File, error) {
		var w within
		if err := json.Unmarshal(config, &w); err != nil {
			return nil, err
		}
		if w.Mechanism == execwatch.Fanotify {
			_ = execwatch.SealMemfds() // without it memory files have to ask for it themselves
		}
		if len(w.Network) == 0 {
			files, _ := netstack.SetupNowhere() // without it names aren't told
			return files, nil
		}
		return netstack.Setup(w.Network)
	},
	Exec: func(config []byte) error {
		var w within
		if err := json.Unmarshal(config, &w); err != nil {
			return err
		}
		return execwatch.Confine(w.Mechanism, w.Sealed, cellHas)
	},
}

// cellHas reports whether a cell refuses what a rule does, and takes note of who
// tries.
func cellHas(r execwatch.Rule) bool {
	switch len(r.When) {
	case 0:
		return cell.Covers(r.Call, 0)
	case 1:
		return r.When[0].Index == 0 && r.When[0].Mask == r.When[0].Value && cell.Covers(r.Call, r.When[0].Value)
	}
	return false
}

func runCellIfAsked() { cell.RunInitIfAsked(cellInside) }
