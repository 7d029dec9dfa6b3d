package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/journal"
)

// JournalConfig says how a run is recorded (§8).
type JournalConfig struct {
	// W takes the journal as it comes, in pieces: a buffer, a file, or a descriptor
	// that leads to another process.
	W io.Writer
	// Salt is random, and the run's own.
	Salt [journal.SaltSize]byte
	// Secrets name the variables of the unit whose values the journal must not
	// hold. It has their digests, and names them wherever a call brings them in.
	Secrets []string
	// Limit is how large the journal may grow, in bytes. Zero means
	// journal.DefaultLimit. A run that passes it is ended as cancelled.
	Limit int64
	// Every is how many units lie between two states, at the least. Zero means
	// DefaultEvery.
	Every uint64
}

// DefaultEvery lets a state be taken every few hundredths of a second.
const DefaultEvery = 1 << 26

// journaling records one run as a journal. It is the run's Recorder, and the
// executor shows it the states.
type journaling struct {
	config JournalConfig
	w      *journal.Writer // nil before the run begins
	ahead  *bufio.Writer   // what w writes to
	pace   pace

	hidden []hidden // the secrets' values
	cut    bool
	err    error
	entry  journal.Call // reused
	last   HostCall     // whose name it has
}

// recordAhead is how much of a journal is written at once. What a run that is
// killed leaves behind isn't whole anyway.
const recordAhead = 32 << 10

// hidden is a secret value, and where its variable is in the environment.
type hidden struct {
	value []byte
	index int
}

func newJournaling(c JournalConfig) *journaling {
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	return &journaling{config: c, pace: pace{every: c.Every}}
}

// begin writes what the run begins with.
func (j *journaling) begin(b journal.Begin, env []string) error {
	b.Every = j.pace.every
	if err := j.variables(&b, env); err != nil {
		return err
	}
	j.ahead = bufio.NewWriterSize(j.config.W, recordAhead)
	w, err := journal.NewWriter(j.ahead, j.config.Salt, j.config.Limit)
	if err != nil {
		return err
	}
	j.w = w
	return w.Add(&b)
}

func (j *journaling) variables(b *journal.Begin, env []string) error {
	index := map[string]int{}
	for i, e := range env {
		name, value, _ := strings.Cut(e, "=")
		index[name] = i
		b.Env = append(b.Env, journal.Variable{Name: name, Value: value})
	}
	for _, name := range j.config.Secrets {
		i, ok := index[name]
		if !ok {
			return fmt.Errorf("journal: the secret %q is no variable of the unit", name)
		}
		v := &b.Env[i]
		j.hidden = append(j.hidden, hidden{[]byte(v.Value), i})
		*v = journal.Variable{Name: name, Secret: true, Digest: journal.Secret(j.config.Salt, v.Value)}
	}
	return nil
}

// Record writes one call.
func (j *journaling) Record(c HostCall) error {
	if j.err != nil {
		return j.err
	}
	e := &j.entry
	if c.Module != j.last.Module || c.Name != j.last.Name { // else it's the name that e has
		j.last.Module, j.last.Name, e.Name = c.Module, c.Name, c.Module+"."+c.Name
	}
	e.Args, e.Result, e.Units, e.Broke = c.Args, c.Result, c.Units, c.Broke
	e.Writes = e.Writes[:0]
	for _, w := range c.Writes {
		e.Writes = j.without(e.Writes, w.At, w.Bytes)
	}
	if e.Broke {
		e.Result = 0
	}
	switch err := j.w.Add(e); {
	case errors.Is(err, journal.ErrFull):
		j.cut = true
		return err
	case err != nil:
		j.err = err
		return err
	}
	j.pace.calls++
	return nil
}

// without adds a write with references in place of the secrets within it.
func (j *journaling) without(writes []journal.Write, at uint32, b []byte) []journal.Write {
	for len(b) > 0 {
		i, h := j.firstSecret(b)
		if i > 0 {
			writes = append(writes, journal.Write{At: at, Bytes: b[:i:i]})
		}
		if i == len(b) {
			break
		}
		writes = append(writes, journal.Write{At: at + uint32(i), Secret: h.index})
		n := i + len(h.value)
		at, b = at+uint32(n), b[n:]
	}
	return writes
}

// firstSecret finds the secret that b holds first, the longest of those that
// begin there; b's length if there is none.
func (j *journaling) firstSecret(b []byte) (at int, found hidden) {
	at = len(b)
	for _, h := range j.hidden {
		if len(h.value) == 0 {
			continue
		}
		i := bytes.Index(b, h.value)
		if i >= 0 && (i < at || i == at && len(h.value) > len(found.value)) {
			at, found = i, h
		}
	}
	return at, found
}

// Called writes a state when one is due.
func (j *journaling) Called(c *wasm.Call) {
	if j.err != nil || !j.pace.due(c) {
		return
	}
	j.err = j.w.Add(j.pace.state(c))
	if j.err != nil {
		c.Cancel()
	}
}

// Ended writes how the run ended, with its last state. After a call that was cut
// there is none to write: the call's effects are in the memory and not here. A
// journal that can't be written has no end, which is how that is found.
func (j *journaling) Ended(c *wasm.Call, e wasm.Exit) {
	if j.err != nil {
		return
	}
	end := j.pace.end(c, e)
	if j.cut {
		end.State.Hash = joulebox.ID{}
	}
	if j.err = j.w.Add(end); j.err == nil {
		j.err = j.ahead.Flush()
	}
}
