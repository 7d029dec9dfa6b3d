package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

// TestBothPlacesAreTheSame runs units in this process and in one of their own:
// all but the time it takes must be the same.
func TestBothPlacesAreTheSame(t *testing.T) {
	processes := newProcesses(t, 0)
	dir := tree(t, map[string]string{"a.txt": "text", "d/b.txt": "more", "l": "-> a.txt", "out": "-> /etc/passwd"})
	stored := func(c *BrokerConfig) {
		c.Grants = everything("/data", "/data/**")
		c.Grants.Storage.Delete = nil
		c.Mounts = []Mount{{Guest: "/data", Host: dir}}
	}
	trials := map[string]func() *trial{
		"returns":        func() *trial { return &trial{image: returns(0)} },
		"returns 7":      func() *trial { return &trial{image: returns(7)} },
		"traps":          func() *trial { return &trial{image: traps()} },
		"out of fuel":    func() *trial { return &trial{image: spins(), change: func(l *Limits) { l.Units = 1_000_000 }} },
		"out of memory":  func() *trial { return &trial{image: grows(), change: func(l *Limits) { l.Memory = 1 << 20 }} },
		"memory refused": func() *trial { return &trial{image: grows(), change: func(l *Limits) { l.Memory = 1 }} },
		"no such entry":  func() *trial { return &trial{image: returns(0), entry: "go"} },
		"no module":      func() *trial { return &trial{image: []byte("text")} },
		"simd": func() *trial {
			return &trial{image: readModule(t, "../internal/cli/testdata/units/simd.wasm")}
		},
		"simd granted": func() *trial {
			r := &trial{image: readModule(t, "../internal/cli/testdata/units/simd.wasm")}
			r.config.Grants = everything()
			r.config.Grants.Compute.Devices = append(r.config.Grants.Compute.Devices, joulebox.SIMD)
			return r
		},
		"args":   func() *trial { return probing(t, "args", "a", "", "b c") },
		"env":    func() *trial { r := probing(t, "env"); r.config.Env = []string{"A=1", "B=x=y"}; return r },
		"stderr": func() *trial { return probing(t, "stderr", "words") },
		"exit":   func() *trial { return probing(t, "exit", "300") },
		"trap":   func() *trial { return probing(t, "trap") },
		"random": func() *trial { return probing(t, "random") },
		"no random": func() *trial {
			r := probing(t, "random")
			r.config.Grants = grant.Empty(budgets())
			return r
		},
		"stdin": func() *trial {
			r := probing(t, "copy")
			r.config.Stdin = strings.NewReader(strings.Repeat("line of input\n", 20_000))
			return r
		},
		"empty stdin": func() *trial { return probing(t, "copy") },
		"ls":          func() *trial { r := probing(t, "ls", "/data"); stored(&r.config); return r },
		"write":       func() *trial { r := probing(t, "write", "/data/new", "text"); stored(&r.config); return r },
		"mkdir":       func() *trial { r := probing(t, "mkdir", "/data/e"); stored(&r.config); return r },
		"link out":    func() *trial { r := probing(t, "ls", "/data/out"); stored(&r.config); return r },
		"rm denied":   func() *trial { r := probing(t, "rm", "/data/a.txt"); stored(&r.config); return r },
		"rm allowed": func() *trial {
			r := probing(t, "rm", "/data/d/b.txt")
			stored(&r.config)
			r.config.Grants.Storage.Delete = []string{"/data/d/*"}
			return r
		},
		"mv": func() *trial {
			r := probing(t, "mv", "/data/a.txt", "/data/d/c.txt")
			stored(&r.config)
			r.config.Grants.Storage.Delete = []string{"/data/*"}
			return r
		},
		"probing": func() *trial { r := probing(t, "ls", "/sys/class/powercap"); stored(&r.config); return r },
		"log":     func() *trial { return &trial{image: readModule(t, "../internal/cli/testdata/units/log.wasm")} },
		"egress denied": func() *trial {
			return &trial{image: readModule(t, "../internal/cli/testdata/units/egress.wasm")}
		},
		"tree": func() *trial { return treeTrial(t) },
	}
	for name, make := range trials {
		for _, inner := range []Executor{S0(testEngine()), S1(testEngine()), S2(testEngine())} {
			if name == "out of fuel" && inner.Counting() != CountsInstructions {
				continue // S2's alone: nothing is counted below it
			}
			t.Run(name+"/"+inner.Tier().String(), func(t *testing.T) {
				fresh := func() *trial {
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
					if err := os.CopyFS(dir, os.DirFS(tree(t, map[string]string{"a.txt": "text", "d/b.txt": "more"}))); err != nil {
						t.Fatal(err)
					}
					for name, to := range map[string]string{"l": "a.txt", "out": "/etc/passwd"} {
						if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
							t.Fatal(err)
						}
					}
					return make()
				}
				here := fresh().on(t, t.Context(), inner)
				there := fresh().on(t, t.Context(), processes.Jailed(inner))
				sameTrial(t, inner, here, there)
			})
		}
	}
}

func sameTrial(t *testing.T, x Executor, here, there *trial) {
	t.Helper()
	if (here.err == nil) != (there.err == nil) || here.err != nil && here.err.Error() != there.err.Error() {
		t.Errorf("got error %v, want %v", there.err, here.err)
	}
	if a, b := new(RefusedError), new(RefusedError); errors.As(here.err, &a) != errors.As(there.err, &b) || a.Hint != b.Hint {
		t.Errorf("got %+v, want %+v", b, a)
	}
	a, b := here.exit, there.exit
	a.Counts.CPUTime, a.Counts.Wall, b.Counts.CPUTime, b.Counts.Wall = 0, 0, 0, 0
	if x.Counting() == CountsCPUTime {
		a.Counts.Units, a.Counts.Vectors, a.Counts.Instructions = 0, 0, 0
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %+v, want %+v", b, a)
	}
	if here.stdout.String() != there.stdout.String() || here.stderr.String() != there.stderr.String() || here.log.String() != there.log.String() {
		t.Errorf("got %q %q %q, want %q %q %q", &there.stdout, &there.stderr, &there.log, &here.stdout, &here.stderr, &here.log)
	}
	if here.usage != there.usage || here.digests != there.digests {
		t.Errorf("got %+v %v, want %+v %v", there.usage, there.digests, here.usage, here.digests)
	}
	if !slices.Equal(here.probing, there.probing) || !slices.Equal(here.denials, there.denials) {
		t.Errorf("got %v %v, want %v %v", there.probing, there.denials, here.probing, here.denials)
	}
}

// TestSuiteInItsOwnProcess runs every program of the official preview 1 suite in
// a host process.
func TestSuiteInItsOwnProcess(t *testing.T) {
	processes := newProcesses(t, 0)
	suite(t, func(t *testing.T, program string) {
		c, r := suiteTrial(t, program)
		r.on(t, t.Context(), processes.Jailed(S2(testEngine())))
		if r.err != nil {
			t.Fatal(r.err)
		}
		if r.exit.Code == nil || *r.exit.Code != c.ExitCode {
			t.Errorf("got %+v, want code %d\nstdout: %s\nstderr: %s", r.exit, c.ExitCode, &r.stdout, &r.stderr)
		}
		if c.Stdout != "" && r.stdout.String() != c.Stdout {
			t.Errorf("stdout: got %q, want %q", &r.stdout, c.Stdout)
		}
	})
}

func TestTimeIsUpInAProcess(t *testing.T) {
	processes := newProcesses(t, 0)
	for _, inner := range []Executor{S0(testEngine()), S2(testEngine())} {
		r := &trial{image: spins(), change: func(l *Limits) { l.Wall = 50 * time.Millisecond }}
		r.on(t, t.Context(), processes.Jailed(inner))
		if r.err != nil || r.exit.Outcome != joulebox.Terminated(joulebox.BreachTime) {
			t.Errorf("%s: got %+v, %v", inner.Tier(), r.exit, r.err)
		}
		if c := r.exit.Counts; c.Wall < 50*time.Millisecond || c.CPUTime == 0 {
			t.Errorf("%s: counts %+v", inner.Tier(), c)
		}
	}
}

func TestCPUBudgetInAProcess(t *testing.T) {
	r := &trial{image: spins(), change: func(l *Limits) { l.CPU = 20 * time.Millisecond }}
	r.on(t, t.Context(), newProcesses(t, 0).Jailed(S0(testEngine())))
	if r.err != nil || r.exit.Outcome != joulebox.Terminated(joulebox.BreachEnergy) {
		t.Errorf("got %+v, %v", r.exit, r.err)
	}
}

func TestCancelledInAProcess(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	for _, after := range []time.Duration{0, 5 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		r := (&trial{image: spins()}).on(t, ctx, x)
		cancel()
		if r.err != nil || r.exit.Outcome != joulebox.Failed || r.exit.Cause != CauseCancelled {
			t.Errorf("after %v: got %+v, %v", after, r.exit, r.err)
		}
	}
	// A unit that waits for input doesn't take its own end for that of the input.
	for range 20 {
		in, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
		u := probing(t, "copy")
		u.config.Stdin = in
		if u.on(t, ctx, x); u.err != nil || u.exit.Cause != CauseCancelled {
			t.Errorf("waiting for input: got %+v, %v", u.exit, u.err)
		}
		cancel()
		in.Close()
		w.Close()
	}
	// Also where the engine isn't looking.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	r := probing(t, "sleep", "20000").on(t, ctx, x)
	if r.err != nil || r.exit.Cause != CauseCancelled || time.Since(start) > 10*time.Second {
		t.Errorf("asleep: got %+v, %v after %v", r.exit, r.err, time.Since(start))
	}
}

// TestLiveCounts looks at a run while it goes on.
func TestLiveCounts(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &trial{image: spins()}
	job := r.job(t)
	defer job.Broker.Close()
	run, err := x.Start(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan Exit, 1)
	go func() {
		e, err := run.Wait()
		if err != nil {
			t.Error(err)
		}
		done <- e
	}()
	var last Counts
	for range 100 {
		c := run.Counts()
		if c.Units < last.Units || c.CPUTime < last.CPUTime || c.Wall < last.Wall {
			t.Errorf("counts go back: %+v after %+v", c, last)
		}
		if last = c; c.Units > 10_000_000 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if last.Units == 0 || last.CPUTime == 0 {
		t.Errorf("nothing to see: %+v", last)
	}
	cancel()
	if e := <-done; e.Counts.Units < last.Units || run.Counts() != e.Counts {
		t.Errorf("the end has %+v, before it were %+v, after it %+v", e.Counts, last, run.Counts())
	}
}

func TestOutputOrderAcrossStreams(t *testing.T) {
	var both bytes.Buffer
	r := &trial{image: readModule(t, "../internal/cli/testdata/units/probe.wasm"), config: BrokerConfig{
		Args: []string{"probe", "copy"}, Stdin: strings.NewReader(strings.Repeat("x", 300_000)), Stdout: &both, Stderr: &both}}
	r.on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
	if r.err != nil || both.Len() != 300_000 {
		t.Errorf("got %d bytes, %v", both.Len(), r.err)
	}
}

// TestInputIsLeftToOthers: a unit that reads no input takes none of it, and one
// that reads some leaves the rest of a file.
func TestInputIsLeftToOthers(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString("for the next")
	w.Close()
	u := probing(t, "args")
	u.config.Stdin = r
	if u.on(t, t.Context(), x); u.err != nil {
		t.Fatal(u.err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "for the next" {
		t.Errorf("left: %q", rest)
	}
	if u.digests[0] != joulebox.Sum(nil) {
		t.Error("the record has input that wasn't read")
	}
}

// TestEndlessInput reads a little of an input that doesn't end, from a pipe that
// nobody closes.
func TestEndlessInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	u := probing(t, "copy")
	u.config.Stdin = r
	u.change = func(l *Limits) { l.Wall = 300 * time.Millisecond }
	w.WriteString("some")
	u.on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
	if u.err != nil || u.exit.Outcome != joulebox.Terminated(joulebox.BreachTime) || u.stdout.String() != "some" {
		t.Errorf("got %+v, %v, %q", u.exit, u.err, &u.stdout)
	}
	if u.digests[0] != joulebox.Sum([]byte("some")) {
		t.Error("the record has another input than was read")
	}
}

// stalled is an output that nobody reads, until release is closed.
type stalled struct{ release chan struct{} }

func (s stalled) Write(p []byte) (int, error) {
	<-s.release
	return len(p), nil
}

// TestStalledOutput: it counts against the unit's time, and keeps nobody else.
func TestStalledOutput(t *testing.T) {
	out := stalled{make(chan struct{})}
	defer close(out.release)
	u := probing(t, "copy")
	u.config.Stdin, u.config.Stdout = strings.NewReader(strings.Repeat("x", 4<<20)), out
	u.change = func(l *Limits) { l.Wall = 300 * time.Millisecond }
	u.on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
	if u.err != nil || u.exit.Outcome != joulebox.Terminated(joulebox.BreachTime) || u.exit.Counts.Units == 0 {
		t.Errorf("got %+v, %v", u.exit, u.err)
	}
}

// TestClosedOutput: the unit hears of it with a later write.
func TestClosedOutput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	go func() {
		io.ReadFull(r, make([]byte, 100_000))
		r.Close()
	}()
	u := probing(t, "copy")
	u.config.Stdin, u.config.Stdout = strings.NewReader(strings.Repeat("x", 8<<20)), w
	u.on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
	if u.err != nil || u.exit.Code == nil || *u.exit.Code != 1 {
		t.Errorf("got %+v, %v, want the unit to fail at a write", u.exit, u.err)
	}
}

// TestEgressThroughTheSupervisor dials in this process, for a unit in another.
func TestEgressThroughTheSupervisor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:28463")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.ReadAll(c)
		c.Write([]byte("pong"))
		c.Close()
	}()
	u := &trial{image: readModule(t, "../internal/cli/testdata/units/egress.wasm")}
	u.config.Grants = everything()
	u.config.Grants.Network.Outbound = []string{"127.0.0.1:28463"}
	u.on(t, t.Context(), newProcesses(t, 0).Jailed(S2(testEngine())))
	if u.err != nil || u.stdout.String() != "pong" || u.usage.Connections != 1 {
		t.Errorf("got %+v, %v, %q, %+v", u.exit, u.err, &u.stdout, u.usage)
	}
}

// TestOneUnitAProcess: a process is kept for its unit and for no other.
func TestOneUnitAProcess(t *testing.T) {
	processes := newProcesses(t, 4)
	x := processes.Jailed(S2(testEngine()))
	pid := func(r *trial) int {
		job := r.job(t)
		defer job.Broker.Close()
		run, err := x.Start(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		n := run.(*jailedRun).process.Pid
		if _, err := run.Wait(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := pid(&trial{image: returns(0)})
	if again := pid(&trial{image: returns(0)}); again != first {
		t.Errorf("the same unit ran in %d and then in %d", first, again)
	}
	for name, other := range map[string]*trial{
		"another module": {image: returns(1)},
		"other grants":   {image: returns(0), config: BrokerConfig{Grants: grant.Empty(budgets())}},
		"other args":     {image: returns(0), config: BrokerConfig{Args: []string{"unit", "x"}}},
		"more memory":    {image: returns(0), change: func(l *Limits) { l.Memory *= 2 }},
	} {
		if n := pid(other); n == first {
			t.Errorf("%s: ran in the process of another unit", name)
		}
	}
	bad := pid(&trial{image: traps()})
	if again := pid(&trial{image: traps()}); again == bad {
		t.Error("a process was kept after a trap")
	}
	broke := func() *trial { return &trial{image: spins(), change: func(l *Limits) { l.Units = 1000 }} }
	bad = pid(broke())
	if again := pid(broke()); again == bad {
		t.Error("a process was kept after a breach")
	}
}

// TestKeptProcessSeesNewDirectories: what a path meant in the last run isn't what
// it means in the next.
func TestKeptProcessSeesNewDirectories(t *testing.T) {
	x := newProcesses(t, 4).Jailed(S2(testEngine()))
	parent := t.TempDir()
	dir := filepath.Join(parent, "d")
	ls := func() string {
		u := probing(t, "ls", "/data")
		u.config.Grants = everything("/data", "/data/**")
		u.config.Mounts = []Mount{{Guest: "/data", Host: dir}}
		if u.on(t, t.Context(), x); u.err != nil {
			t.Fatal(u.err)
		}
		return u.stdout.String()
	}
	for _, name := range []string{"one", "two", "three"} {
		if err := os.Rename(dir, dir+"-before-"+name); err != nil && name != "one" {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := ls(); got != name+"\n" {
				t.Errorf("got %q, want %q", got, name)
			}
		}
	}
}

// TestRunsInProcessesLeaveNothing: no process, no descriptor, no goroutine.
func TestRunsInProcessesLeaveNothing(t *testing.T) {
	needJail(t)
	p, err := NewProcesses(ProcessConfig{Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	x := p.Jailed(S2(testEngine()))
	stage := func() {
		for i := range 12 {
			u := probing(t, []string{"args", "copy", "trap"}[i%3])
			u.config.Stdin = strings.NewReader("input")
			if i%4 == 0 {
				u = &trial{image: spins(), change: func(l *Limits) { l.Units = 1 << 20 }}
			}
			if u.on(t, t.Context(), x); u.err != nil {
				t.Fatal(u.err)
			}
		}
	}
	settle := func() (files, routines int) {
		for range 50 {
			if len(children(t)) <= 2 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		runtime.GC()
		return openFiles(t), runtime.NumGoroutine()
	}
	stage()
	files, routines := settle()
	for range 5 {
		stage()
	}
	if f, r := settle(); f > files+3 || r > routines+3 {
		t.Errorf("descriptors %d, goroutines %d; before %d and %d", f, r, files, routines)
	}
	p.Close()
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestManyAtOnce(t *testing.T) {
	x := newProcesses(t, 2).Jailed(S2(testEngine()))
	done := make(chan *trial)
	const n = 24
	for i := range n {
		go func() {
			u := probing(t, "copy")
			u.config.Stdin = strings.NewReader(strings.Repeat("x", 1+i*1000))
			done <- u.on(t, t.Context(), x)
		}()
	}
	total := 0
	for range n {
		u := <-done
		if u.err != nil {
			t.Error(u.err)
		}
		total += u.stdout.Len()
	}
	if want := n + 1000*n*(n-1)/2; total != want {
		t.Errorf("got %d bytes, want %d", total, want)
	}
}

// TestEmbeddersOwn: what can't be handed over is refused, not left out.
func TestEmbeddersOwn(t *testing.T) {
	x := newProcesses(t, 0).Jailed(S2(testEngine()))
	for name, u := range map[string]*trial{
		"clock":  {image: returns(0), config: BrokerConfig{Clock: hostClock{}}},
		"random": {image: returns(0), config: BrokerConfig{Random: strings.NewReader("0000")}},
	} {
		var refused *RefusedError
		if u.on(t, t.Context(), x); !errors.As(u.err, &refused) {
			t.Errorf("%s: got %v", name, u.err)
		}
	}
}
