package host

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/wasi"
	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/journal"
)

// NewReplayEngine makes an engine whose host functions do nothing but answer from
// a journal (§8). It can share the cache of one that runs units.
func NewReplayEngine(c EngineConfig) (*Engine, error) {
	return wasm.NewEngine(wasm.Config{HostFuncs: replayFuncs(), CacheDir: c.CacheDir, InProcess: c.InProcess, Compile: c.Compile})
}

// replayFuncs are all functions of a run's engine, each answering from the
// player. Only proc_exit is itself: it has no answer.
func replayFuncs() []wasm.HostFunc {
	list := slices.Concat(wasi.HostFuncs(), hostcall.HostFuncs())
	for i := range list {
		f := &list[i]
		if f.Name == "proc_exit" {
			continue
		}
		name, params := f.Module+"."+f.Name, len(f.Params)
		f.Fn = func(_ context.Context, c *wasm.Call, stack []uint64) {
			c.State.(*player).answer(c, name, stack, params)
		}
	}
	return list
}

// Replay is what a journal is replayed with.
type Replay struct {
	Journal *journal.Journal
	Module  []byte // whose address is Journal.Begin.Module
	// Secrets are the values of the variables that the journal has by digest only.
	Secrets map[string]string
	// Stdout and Stderr take what the unit writes; nil discards it.
	Stdout, Stderr io.Writer
}

// Replayed is a run that took the same course again.
type Replayed struct {
	Exit           Exit
	Stdout, Stderr joulebox.ID // addresses of what was written
	States         uint64      // that were compared, the last one included
}

// MissingError says that a replay can't begin here.
type MissingError struct {
	What string
	Hint string
}

func (e *MissingError) Error() string { return e.What }

// Run reruns the unit. Nothing but the journal answers it. A *journal.Error names
// the entry at which the unit takes another course than the one that was
// recorded, a *MissingError what the replay lacks.
func (r Replay) Run(ctx context.Context, engine *Engine) (*Replayed, error) {
	b := r.Journal.Begin
	if got := wasm.Metering(); b.Metering != got {
		return nil, &MissingError{fmt.Sprintf("instructions are counted as %s here, and were as %s", got, b.Metering), "replay with the joulebox that recorded it"}
	}
	if id := joulebox.Sum(r.Module); id != b.Module {
		return nil, &MissingError{fmt.Sprintf("got module %s, want %s", id, b.Module), "name the file with --module"}
	}
	secrets, err := r.secrets()
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, r.Module, wasm.Options{Metered: true, ImageID: b.Module, SIMDWeight: uint32(b.Limits.Vector)})
	if err != nil {
		return nil, refused(err)
	}
	defer module.Close()
	p := &player{ctx: ctx, journal: r.Journal, next: 3, secrets: secrets, pace: pace{every: b.Every}, streams: follow(r.Stdout, r.Stderr)}
	begun := time.Now()
	e, err := module.Run(ctx, wasm.Params{
		Entry: b.Entry, State: p, Watch: p, Halt: halt(r.Journal),
		Limits: wasm.Limits{Fuel: b.Limits.Fuel, Slice: b.Limits.Slice, MemoryBytes: b.Limits.Memory, StackWords: b.Limits.Stack},
	})
	if err != nil {
		return nil, refused(err)
	}
	if p.err != nil {
		return nil, p.err
	}
	run := wasmRun{job: Job{Limits: Limits{Vector: b.Limits.Vector}}, begun: begun}
	done := &Replayed{Exit: exitOf(e), States: p.states, Stdout: p.streams.out.hash.id(), Stderr: p.streams.err.hash.id()}
	done.Exit.Counts = run.counts(e)
	return done, nil
}

// halt is where a run was ended from outside: for its time, or for who asked.
func halt(j *journal.Journal) *wasm.Halt {
	for _, cause := range []wasm.Cause{wasm.OutOfTime, wasm.Cancelled} {
		if cause.String() == j.End.Cause {
			return &wasm.Halt{Units: j.End.Units, Cause: cause}
		}
	}
	return nil
}

// secrets are the values of the journal's secret variables, by their index.
func (r Replay) secrets() (map[int][]byte, error) {
	values := map[int][]byte{}
	for i := range r.Journal.Begin.Env {
		v := &r.Journal.Begin.Env[i]
		if !v.Secret {
			continue
		}
		value, ok := r.Secrets[v.Name]
		if !ok {
			return nil, &MissingError{fmt.Sprintf("the value of %s is a secret, which the journal doesn't hold", v.Name), "hand it in with --env " + v.Name}
		}
		if !v.Reveals(r.Journal.Salt, value) {
			return nil, &MissingError{fmt.Sprintf("the value of %s isn't the one that the unit had", v.Name), "hand in the right one with --env " + v.Name}
		}
		values[i] = []byte(value)
	}
	return values, nil
}
