package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/hostspawn"
	"github.com/joulebox/joulebox/internal/jail"
	"github.com/joulebox/joulebox/internal/wasm"
)

// Processes are the host processes of one supervisor. It is safe for concurrent
// use.
type Processes struct {
	config ProcessConfig
	survey []jail.Mechanism

	mu      sync.Mutex
	closed  bool
	idle    []*process                        // the one that was used last at the end
	blank   func() (hostspawn.Process, error) // serves nothing yet
	waiting sync.WaitGroup                    // for processes to be gone
}

// NewProcesses makes none yet. The program's main must call RunChildIfAsked
// first: a host process is that program once more.
func NewProcesses(c ProcessConfig) (*Processes, error) {
	if !hostedHook {
		return nil, errors.New("host processes are re-executions of this program, which needs host.RunChildIfAsked as the first call of main")
	}
	if c.Idle == nil {
		c.Idle = unbooked{}
	}
	return &Processes{config: c, survey: jail.Survey()}, nil
}

// Adopt takes over a process that was begun to be started before it was known what
// for, so that it is up when the first run needs it.
func (p *Processes) Adopt(begun func() (hostspawn.Process, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun != nil {
		p.blank = begun
	}
}

// starting is a process that serves nothing yet, on its way.
func (p *Processes) starting() func() (*process, error) {
	p.mu.Lock()
	begun := p.blank
	p.blank = nil
	p.mu.Unlock()
	if begun == nil {
		begun = hostspawn.Begin()
	}
	return func() (*process, error) { return newProcess(begun()) }
}

// Close ends the processes that wait, and returns once all are gone. Runs that
// are under way go on, and end theirs.
func (p *Processes) Close() error {
	p.mu.Lock()
	p.closed = true
	idle, blank := p.idle, p.blank
	p.idle, p.blank = nil, nil
	for _, process := range idle {
		p.evict(process)
	}
	p.mu.Unlock()
	for _, process := range idle {
		p.end(process)
	}
	if blank != nil {
		if process, err := newProcess(blank()); err == nil {
			p.end(process)
		}
	}
	p.waiting.Wait()
	return nil
}

// end ends a process, and leaves the waiting to a goroutine.
func (p *Processes) end(process *process) {
	process.kill()
	p.waiting.Go(func() { process.wait() })
}

func (p *Processes) unavailable() error { return jail.Missing(p.survey, false) }

func (p *Processes) provides(need string) bool {
	return !strings.HasPrefix(need, "storage") || jail.Missing(p.survey, true) == nil
}

// Mechanisms are what holds host processes in on this host.
func (p *Processes) Mechanisms() []jail.Mechanism { return p.survey }

// processKey is all that a process was set up with: it serves a job whose key is
// the same, and no other.
type processKey struct {
	unit, module joulebox.ID
	metered      bool
	vector       uint64
	memory       uint64
	tolls        Tolls
	workDir      string
	storage      string
}

func newProcessKey(x wasmExecutor, job Job, module joulebox.ID) (k processKey, err error) {
	k = processKey{unit: job.UnitID, module: module, metered: x.metered, vector: job.Limits.Vector, memory: job.Limits.Memory,
		tolls: job.Broker.config.Tolls, workDir: job.Broker.config.WorkDir}
	if k.unit.IsZero() {
		if k.unit, err = job.Unit.ID(); err != nil {
			return k, err
		}
	}
	k.storage, err = job.Broker.storage.identity()
	return k, err
}

// identity names the roots by what they are and not by their paths, which can
// come to mean something else between two runs.
func (s *storage) identity() (string, error) {
	if len(s.roots) == 0 {
		return "", nil
	}
	var b strings.Builder
	for _, r := range s.roots {
		var st unix.Stat_t
		if err := unix.Fstat(r.fd, &st); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%q %q %d %d\n", r.guest, r.host, st.Dev, st.Ino)
	}
	fmt.Fprintf(&b, "%q", s.hidden)
	return b.String(), nil
}

// takeIdle finds a process that waits for this very job.
func (p *Processes) takeIdle(key processKey) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if process := p.idle[i]; process.key == key {
			p.idle = slices.Delete(p.idle, i, i+1)
			return process
		}
	}
	return nil
}

// keep keeps a process whose run has ended well, or ends it.
func (p *Processes) keep(process *process) {
	p.mu.Lock()
	evicted := process
	if !p.closed && p.config.Keep > 0 {
		process.waits()
		process.slot = p.config.Idle.Waits(process.key.unit)
		p.idle = append(p.idle, process)
		evicted = nil
		if len(p.idle) > p.config.Keep {
			evicted = p.idle[0]
			p.idle = slices.Delete(p.idle, 0, 1)
			p.evict(evicted)
		}
	}
	p.mu.Unlock()
	if evicted != nil {
		p.end(evicted)
	}
}

// book closes the account of a process that a run has taken, or that wasn't fit to
// be taken.
func (p *Processes) book(process *process, drew Drawn, claimed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config.Idle.Drew(process.slot, drew)
	if process.claimed = claimed; claimed {
		p.config.Idle.Claimed(process.slot, process.key.unit)
	} else {
		p.config.Idle.Evicted(process.slot)
	}
}

// settle says what a waiting process drew since the last time. The lock is held.
func (p *Processes) settle(process *process) {
	if d := process.drew(); d.Wall > 0 {
		p.config.Idle.Drew(process.slot, d)
	}
}

// evict ends the waiting of a process that nobody claimed. The lock is held.
func (p *Processes) evict(process *process) {
	p.settle(process)
	p.config.Idle.Evicted(process.slot)
}

// Settle has Idle told what all waiting processes drew up to now.
func (p *Processes) Settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, process := range p.idle {
		p.settle(process)
	}
}

// setupTries is how often a module is prepared again when the cache was tidied
// between its preparation and its loading.
const setupTries = 3

func (p *Processes) start(ctx context.Context, x wasmExecutor, job Job) (Run, error) {
	if err := cmp.Or(p.unavailable(), job.canLeave()); err != nil {
		return nil, err
	}
	if job.Broker.journaling != nil && !x.metered {
		return nil, errJournalTier
	}
	image, id, entry, err := job.program()
	if err != nil {
		return nil, err
	}
	key, err := newProcessKey(x, job, id)
	if err != nil {
		return nil, err
	}
	if process := p.takeIdle(key); process != nil {
		drew := process.drew()
		run, err := p.begin(ctx, process, x, job, entry)
		p.book(process, drew, err == nil)
		if err == nil {
			return run, nil
		}
		p.end(process) // it died while it waited
	}
	err = wasm.ErrGone
	for try := 0; errors.Is(err, wasm.ErrGone) && try < setupTries; try++ {
		var process *process
		if process, err = p.ready(ctx, x, job, key, image); err == nil {
			return p.begin(ctx, process, x, job, entry)
		}
	}
	return nil, err
}

// ready starts a process and sets it up, while the module is being found or
// compiled.
func (p *Processes) ready(ctx context.Context, x wasmExecutor, job Job, key processKey, image []byte) (*process, error) {
	starting := p.starting()
	prepared, err := x.prepare(ctx, job, key.module, image)
	process, startErr := starting()
	if startErr != nil {
		return nil, cmp.Or(err, startErr)
	}
	process.key = key
	if err == nil {
		err = process.setUp(x, job, prepared)
	}
	if err == nil && !prepared.Unchanged() {
		err = wasm.ErrGone
	}
	if err != nil {
		p.end(process)
		return nil, err
	}
	return process, nil
}

// prepare is what the in-process executor does before it loads a module.
func (x wasmExecutor) prepare(ctx context.Context, job Job, id joulebox.ID, image []byte) (*wasm.Prepared, error) {
	prepared, err := x.engine.Prepare(ctx, image, wasm.Options{Metered: x.metered, ImageID: id, SIMDWeight: uint32(job.Limits.Vector)})
	if err != nil {
		return nil, refused(err)
	}
	return prepared, job.mayUse(prepared.Info().UsesSIMD)
}

// setupTime bounds how long a process may take to get ready: it reads files and
// asks the kernel for things, nothing else.
const setupTime = 30 * time.Second
