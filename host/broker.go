package host

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/effect"
	"github.com/joulebox/joulebox/internal/egress"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/toll"
	"github.com/joulebox/joulebox/internal/wasi"
)

// Tolls is what a host call costs a unit, in metered units.
type Tolls = toll.Table

// Recorder is shown every host call of a run; see HostCall.
type Recorder = effect.Recorder

// HostCall is one host call that has been answered.
type HostCall = effect.Call

// DefaultTolls is the table of this build.
func DefaultTolls() Tolls { return toll.Default() }

// BrokerConfig is all that is handed over to one run. What is left out is empty,
// in memory, or the host's own; the grants alone decide what a unit can do with it.
type BrokerConfig struct {
	Grants grant.Set

	Args []string // the program's name first
	Env  []string // "NAME=value", nothing of the host's own

	Stdin          io.Reader // nil is empty
	Stdout, Stderr io.Writer // nil is discarded
	Terminal       bool      // tell the unit that its streams are a terminal
	TTY            *TTY      // give a native unit a terminal for them; nil gives it pipes

	// Image is what the unit finds at its root, read-only and without a grant; nil
	// is nothing. Grants and mounts can't lie over it.
	Image *Tree
	// Mounts map guest paths to host directories. A granted path that none of them
	// holds is the same path on the host.
	Mounts []Mount
	// WorkDir is the guest path that the unit's relative names begin at, if its
	// toolchain knows of one; it grants nothing. Empty is none.
	WorkDir string
	// Start is where a native unit begins; empty is WorkDir where the unit is shown it,
	// else its image's, else its home.
	Start string
	// Hidden are host paths that no grant reaches: where keys and records are.
	Hidden []string

	KV      KV        // nil is private, empty and in memory (NewMemoryKV)
	Clock   Clock     // nil is the host's
	Random  io.Reader // nil is crypto/rand
	Log     io.Writer // nil is discarded
	Network Network   // nil is the host's
	// Inbound are listeners of the host that lead to ports of a native unit, if the
	// grants let it be reached (§5.3). The broker closes them.
	Inbound []Inbound

	Tolls Tolls // the zero table means DefaultTolls

	// Recorder is shown every host call with its effect on the unit, in order: all
	// that comes into a run (§8). Nil records nothing.
	Recorder Recorder
	// Journal has the run recorded as a replay journal. It takes the Recorder's place.
	Journal *JournalConfig

	handed *handedOver // in a host process
}

// Mount shows a host directory to the unit under another path.
type Mount struct {
	Guest string // canonical
	Host  string
}

// Inbound brings the connections of a listener to a port of the unit.
type Inbound struct {
	Listener net.Listener
	Port     uint16
}

// Broker stands between one unit and everything that isn't its own. It asks the
// Enforcer, acts, and counts. One run uses it; Close ends it.
type Broker struct {
	config   BrokerConfig
	enforcer *grant.Enforcer
	counts   counters
	probes   probes
	clock    *clock
	rate     *rate
	stdin    *input
	stdout   *output
	stderr   *output
	log      *logSink
	storage  *storage
	wasi     *wasi.Context

	journaling *journaling // nil without a journal

	report   report   // of the host process that the unit ran in, if it did
	defaults defaults // what was left out of the config
}

// NewBroker makes the broker of one run. It opens the directories that the
// storage grants need, and fails where the host has no mechanism for a grant.
func NewBroker(c BrokerConfig) (*Broker, error) {
	e, err := grant.NewEnforcer(c.Grants)
	if err != nil {
		return nil, err
	}
	if err := checkStrings(c.Args, c.Env); err != nil {
		return nil, err
	}
	if err := c.checkImage(); err != nil {
		return nil, err
	}
	own := defaults{kv: c.KV == nil, clock: c.Clock == nil, random: c.Random == nil}
	c = c.withDefaults()
	b := &Broker{config: c, enforcer: e, defaults: own}
	if c.Journal != nil {
		b.journaling = newJournaling(*c.Journal)
		b.config.Recorder = b.journaling
	}
	b.clock = newClock(c.Clock, e.MayHost(grant.Clock).Allowed)
	b.rate = newRate(c.Clock, e.IOCeilings())
	b.stdin = newInput(c.Stdin)
	b.stdout, b.stderr = newOutputs(c.Stdout, c.Stderr)
	b.log = newLogSink(c.Log)
	if b.storage, err = newStorage(b); err != nil {
		return nil, err
	}
	if b.wasi, err = wasi.New(system{b}); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// defaults are the parts that a host process has of its own just as well.
type defaults struct{ kv, clock, random bool }

func (c BrokerConfig) withDefaults() BrokerConfig {
	if c.KV == nil {
		c.KV = NewMemoryKV()
	}
	if c.Clock == nil {
		c.Clock = hostClock{}
	}
	if c.Random == nil {
		c.Random = hostRandom
	}
	if c.Network == nil {
		c.Network = egress.Host{}
	}
	if c.Tolls.IsZero() {
		c.Tolls = DefaultTolls()
	}
	return c
}

// Bounds of what a unit begins with, so that it fits its memory.
const (
	maxStrings     = 4096
	maxStringBytes = 1 << 20
)

func checkStrings(args, env []string) error {
	bytes := 0
	for i, s := range slices.Concat(args, env) {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("args and env: entry %d, %q, holds a NUL byte; leave it out", i, s)
		}
		bytes += len(s) + 1
	}
	if len(args)+len(env) > maxStrings || bytes > maxStringBytes {
		return fmt.Errorf("args and env: got %d entries of %d bytes, want at most %d of %d; use a file or stdin",
			len(args)+len(env), bytes, maxStrings, maxStringBytes)
	}
	seen := map[string]bool{}
	for _, s := range env {
		name, _, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return fmt.Errorf("env: got %q, want NAME=value", s)
		}
		if seen[name] {
			return fmt.Errorf("env: %s is given twice; keep one", name)
		}
		seen[name] = true
	}
	return nil
}

// WASI is the unit's WASI, for the host functions of internal/wasi.
func (b *Broker) WASI() *wasi.Context { return b.wasi }

// Sandbox is the unit's "sandbox" interface, for those of internal/hostcall.
func (b *Broker) Sandbox() hostcall.Services { return services{b} }

// Grants is what the unit runs under; compared before sealing (§7.5).
func (b *Broker) Grants() grant.Set { return b.config.Grants }

// Digests address the bytes of the three streams: what the unit was given of its
// input, which may be less than there was, and what was taken of its output.
func (b *Broker) Digests() (stdin, stdout, stderr joulebox.ID) {
	return b.stdin.hash.id(), b.stdout.hash.id(), b.stderr.hash.id()
}

// Close releases everything that the run had open. It doesn't close what was
// handed over, and doesn't wait for a reader or writer that is stuck.
func (b *Broker) Close() error {
	var errs []error
	if b.wasi != nil {
		errs = append(errs, b.wasi.Close())
	}
	errs = append(errs, b.storage.close())
	for _, in := range b.config.Inbound {
		_ = in.Listener.Close() // it may be closed with the unit's network
	}
	b.stdin.close()
	b.stdout.close()
	b.stderr.close()
	b.log.end()
	b.log.out.close()
	return errors.Join(errs...)
}
