package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm"
)

// How long a process may take to notice what it should have noticed by itself.
const (
	// wallGrace is for the end of the unit's time: a slice and a host call pass
	// before the engine looks, and a busy machine makes both long.
	wallGrace = 2 * time.Second
	// cancelGrace is for a cancellation.
	cancelGrace = time.Second
)

// jailedRun is a run in a host process, as the supervisor sees it.
type jailedRun struct {
	processes *Processes
	process   *process
	x         wasmExecutor
	job       Job
	ctx       context.Context

	begun    time.Time
	cpu      time.Duration // of the process, at that moment
	feed     *feed         // of the unit's input; nil when it is empty
	deadline context.Context
	release  context.CancelFunc

	broken    [streams]bool // what couldn't be written; the rest is dropped
	logged    int           // bytes
	journaled int64         // bytes

	mu     sync.Mutex
	over   bool // nothing of the process is looked at any more
	killed joulebox.Breach
	cut    bool // the caller has cancelled the run
	seen   uint64
	exit   Exit
}

// begin sends the order for one run. The process is the run's from here on; when
// the order can't be sent, it is still the caller's.
func (p *Processes) begin(ctx context.Context, process *process, x wasmExecutor, job Job, entry string) (*jailedRun, error) {
	r := &jailedRun{processes: p, process: process, x: x, job: job, ctx: ctx}
	process.runs++
	o := r.order(entry)
	var fds []int
	if o.Stdin != stdinEmpty {
		var err error
		if r.feed, err = newFeed(job.Broker.stdin); err != nil {
			return nil, err
		}
		fds = append(fds, r.feed.theirs)
	}
	process.page.reset()
	r.begun, r.cpu = time.Now(), process.clock.read()
	err := process.channel.send(kindRun, o, fds...)
	if r.feed != nil {
		r.feed.handedOver()
	}
	if err != nil {
		r.feed.stop()
		return nil, fmt.Errorf("host process: %w", err)
	}
	return r, nil
}

func (r *jailedRun) order(entry string) *order {
	b, l := r.job.Broker, r.job.Limits
	c := b.config
	o := &order{
		Number: r.process.runs, Entry: entry, Args: c.Args, Env: c.Env, Terminal: c.Terminal, Stdin: b.stdin.manner(),
		KV: !b.defaults.kv, Vector: l.Vector, Units: l.Units, CPU: l.CPU, Wall: l.Wall,
	}
	if j := c.Journal; j != nil {
		o.Journal, o.Salt, o.Secrets, o.Limit, o.Every = true, j.Salt[:], j.Secrets, uint64(j.Limit), j.Every
	}
	return o
}

// Slot is the slot of the process, if it was kept for this run.
func (r *jailedRun) Slot() (uint64, bool) { return r.process.slot, r.process.claimed }

// Wait serves the process until its run has ended.
func (r *jailedRun) Wait() (Exit, error) {
	overdue := time.AfterFunc(r.job.Limits.Wall+wallGrace, func() { r.kill(joulebox.BreachTime) })
	defer overdue.Stop()
	defer context.AfterFunc(r.ctx, r.stop)()
	defer func() {
		if r.release != nil {
			r.release()
		}
	}()
	exit, err := r.serve()
	r.feed.stop() // nil is no input
	return exit, err
}

// kill ends the process for a breach that it should have noticed.
func (r *jailedRun) kill(why joulebox.Breach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.killed = why
		r.process.kill()
	}
}

// stop tells the process that its run is cancelled, and ends it when it doesn't
// listen.
func (r *jailedRun) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.cut = true
	r.process.page.cancel.Store(r.process.runs)
	r.process.signal()
	time.AfterFunc(cancelGrace, func() { r.kill("") })
}

// serve answers the process until it says how the run ended, or dies.
func (r *jailedRun) serve() (Exit, error) {
	for {
		k, payload, err := r.process.channel.receive()
		if err == nil {
			var e *ending
			if e, err = r.handle(k, payload); e != nil && err == nil {
				return r.finish(e)
			}
		}
		if err != nil {
			return r.fail(err)
		}
	}
}

// handle handles one message; an ending is for the caller.
func (r *jailedRun) handle(k kind, payload []byte) (*ending, error) {
	switch k {
	case kindOutput:
		return nil, r.output(payload)
	case kindStdin:
		if r.feed == nil {
			return nil, fmt.Errorf("%w: it wants an input that it knows to be empty", errNonsense)
		}
		r.feed.begin(r.hostContext())
		return nil, nil
	case kindCall:
		var c call
		if err := decode(payload, &c); err != nil {
			return nil, fmt.Errorf("%w: call: %w", errNonsense, err)
		}
		return nil, r.answer(&c)
	case kindExit:
		e := &ending{}
		if err := decode(payload, e); err != nil {
			return nil, fmt.Errorf("%w: exit: %w", errNonsense, err)
		}
		return e, nil
	}
	return nil, confessed{r.process.confession(k, payload)}
}

// confessed is an error that the process named itself.
type confessed struct{ error }

func (c confessed) Unwrap() error { return c.error }

// hostContext is the run's context with its deadline, for what is done here.
func (r *jailedRun) hostContext() context.Context {
	if r.deadline == nil {
		r.deadline, r.release = context.WithDeadline(r.ctx, r.begun.Add(r.job.Limits.Wall))
	}
	return r.deadline
}

// close is the end of all looking at the process. It returns what was seen.
func (r *jailedRun) close() (killed joulebox.Breach, cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.killed, r.cut
}

// finish checks what the process says and makes it the run's exit.
func (r *jailedRun) finish(e *ending) (Exit, error) {
	cpu, wall := r.process.clock.read()-r.cpu, time.Since(r.begun)
	r.feed.stop()
	if err := e.check(r.known(wall)); err != nil {
		return r.fail(fmt.Errorf("%w: %w", errNonsense, err))
	}
	r.close()
	exit := exitOf(e.engine())
	exit.Counts = r.counts(e, cpu, wall)
	r.job.Broker.accept(e)
	if r.feed != nil {
		r.feed.settle(e.Taken)
		r.feed.giveBack()
	}
	r.mu.Lock()
	r.exit = exit
	r.mu.Unlock()
	if exit.Code != nil {
		r.processes.keep(r.process)
	} else {
		r.processes.end(r.process)
	}
	return exit, nil
}

// known is what the ending is held against.
func (r *jailedRun) known(wall time.Duration) known {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look()
	k := known{limits: r.job.Limits, metered: r.x.metered, wall: wall, seen: r.seen}
	if r.feed != nil {
		k.least, k.most = r.feed.settled, r.feed.sent
	}
	return k
}

func (r *jailedRun) counts(e *ending, cpu, wall time.Duration) Counts {
	c := Counts{CPUTime: cpu, Wall: wall, PeakMemory: e.Peak}
	if r.x.metered {
		c.Units, c.Vectors, c.Instructions = e.Fuel-e.SIMD*r.job.Limits.Vector, e.SIMD, e.Instructions
	}
	return c
}

// Counts is what the process shows, held within what is possible.
func (r *jailedRun) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return r.exit.Counts
	}
	r.look()
	return Counts{
		Units: r.seen, PeakMemory: min(r.process.page.live.PeakMemoryBytes(), r.job.Limits.Memory),
		Wall: time.Since(r.begun), CPUTime: r.process.clock.read() - r.cpu,
	}
}

// look takes the count that the process shows: it only grows, and never past the
// limit. The lock is held.
func (r *jailedRun) look() {
	if r.x.metered {
		r.seen = max(r.seen, min(r.process.page.live.Units(), r.job.Limits.Units))
	}
}

// fail ends the process after an error, and says what became of the run: a breach
// that has a name is an exit like any other, everything else is an error, and
// nothing is made up.
func (r *jailedRun) fail(err error) (Exit, error) {
	live := r.Counts()
	killed, cut := r.close()
	nonsense := errors.Is(err, errNonsense) || errors.As(err, new(confessed))
	r.process.kill()
	end, words := r.process.wait()
	exit := Exit{Counts: r.forfeit(live, end)}
	var known confessed
	switch {
	case killed != "":
		exit.Outcome = joulebox.Terminated(killed)
	case cut:
		exit.Outcome, exit.Cause = joulebox.Failed, CauseCancelled
	case errors.As(err, &known):
		return Exit{}, known.error
	case nonsense:
		return Exit{}, fmt.Errorf("host process: %w", err)
	case end.signal() == syscall.SIGSYS:
		exit.Outcome = joulebox.Terminated(joulebox.VMEscape)
	case end.signal() == syscall.SIGKILL && r.process.outOfMemory() || end.signal() == 0 && spokeOfMemory(words):
		exit.Outcome = joulebox.Terminated(joulebox.BreachMemory)
	default:
		return Exit{}, diedError(end, words, err)
	}
	if r.feed != nil { // nobody knows how much of it was read
		r.feed.stop()
		r.feed.settle(r.feed.sent)
	}
	r.mu.Lock()
	r.exit = exit
	r.mu.Unlock()
	return exit, nil
}

// forfeit is the count of a run that can't say its own. What the process showed
// last lacks what came after, a slice at most if it kept to the rules.
func (r *jailedRun) forfeit(c Counts, e end) Counts {
	if r.x.metered {
		c.Units = min(c.Units+wasm.DefaultSlice, r.job.Limits.Units)
		c.Instructions = c.Units
	}
	c.CPUTime = max(c.CPUTime, e.cpu()-r.cpu)
	return c
}

func diedError(e end, words string, err error) error {
	how := e.String()
	if words = firstLine(words); words != "" {
		how += ": " + printable(words)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("host process: it died without saying how the run ended: %s", how)
	}
	return fmt.Errorf("host process: %w (%s)", err, how)
}
