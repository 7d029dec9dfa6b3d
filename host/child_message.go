package host

import (
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

// childVersion is that of the messages. Both sides are the same program, so it
// differs only when a program is replaced under a supervisor that can't tell.
const childVersion = 1

// kind is what a message is.
type kind byte

// What the supervisor sends.
const (
	kindSetup  kind = iota + 1 // once, with all that doesn't change between runs
	kindRun                    // begins a run
	kindAnswer                 // to a call
)

// What a host process sends.
const (
	kindReady   kind = iota + 0x20 // the module is loaded, and the process in its jail
	kindRefused                    // the unit can't be run as it was handed over
	kindGone                       // the compiled module wasn't there any more
	kindFault                      // something of the host's own went wrong
	kindOutput                     // bytes of a stream
	kindStdin                      // the unit wants its input
	kindCall                       // asks for something outside
	kindEffect                     // one recorded host call
	kindExit                       // the run has ended
)

// setup is what a host process is made for.
type setup struct {
	Version     uint32
	Metered     bool
	Code        bool // that the compiled module has machine code
	Grants      grant.Set
	WorkDir     string
	Hidden      []string // real host paths
	Roots       []handedRoot
	Tolls       [4]uint64
	Memory      uint64 // bytes that the unit may have
	AddressRoom uint64 // bytes of address space for all of it
	Parent      uint32 // the supervisor's process
	Unit        joulebox.ID
	Module      joulebox.ID
	Image       []byte // the object of a tree image; empty is none
	Sizes       []uint64
}

// handedRoot is a directory whose descriptor comes along.
type handedRoot struct{ Guest, Host string }

func (r *handedRoot) fields(w *wire) {
	w.text(&r.Guest)
	w.text(&r.Host)
}

func (s *setup) fields(w *wire) {
	w.u32(&s.Version)
	w.bool(&s.Metered)
	w.bool(&s.Code)
	grantFields(w, &s.Grants)
	w.text(&s.WorkDir)
	w.texts(&s.Hidden)
	list(w, &s.Roots, 8, func(w *wire, r *handedRoot) { r.fields(w) })
	for i := range s.Tolls {
		w.u64(&s.Tolls[i])
	}
	w.u64(&s.Memory)
	w.u64(&s.AddressRoom)
	w.u32(&s.Parent)
	idField(w, &s.Unit)
	idField(w, &s.Module)
	w.bytes(&s.Image)
	w.numbers(&s.Sizes)
}

// How a unit's input comes.
const (
	stdinEmpty  byte = iota
	stdinPumped      // as somebody writes it
	stdinSteady      // all of it is there already, and reads fill their buffers
)

// order begins a run.
type order struct {
	Number    uint64 // of this run in its process
	Entry     string
	Args, Env []string
	Terminal  bool
	Stdin     byte
	KV        bool // kv is the supervisor's, not the run's own
	Journal   bool
	Salt      []byte   // of the journal
	Secrets   []string // that the journal must not hold
	Limit     uint64   // of the journal's bytes
	Every     uint64   // units between two states in it
	Vector    uint64
	Units     uint64
	CPU, Wall time.Duration
}

func (o *order) fields(w *wire) {
	w.u64(&o.Number)
	w.text(&o.Entry)
	w.texts(&o.Args)
	w.texts(&o.Env)
	w.bool(&o.Terminal)
	w.byte(&o.Stdin)
	w.bool(&o.KV)
	w.bool(&o.Journal)
	w.bytes(&o.Salt)
	w.texts(&o.Secrets)
	w.u64(&o.Limit)
	w.u64(&o.Every)
	w.u64(&o.Vector)
	w.u64(&o.Units)
	w.duration(&o.CPU)
	w.duration(&o.Wall)
}

func (w *wire) duration(v *time.Duration) {
	n := uint64(*v)
	w.u64(&n)
	*v = time.Duration(n)
}

// What a host process can ask for.
const (
	askEgress byte = iota + 1
	askGet
	askPut
	askContent
)

// call asks for something outside. What each field is depends on the question.
type call struct {
	Ask  byte
	Name []byte // an endpoint, a key, a content's address
	Data []byte // a request, a value
	At   uint64 // an offset
	Most uint32 // how many bytes there is room for
}

func (c *call) fields(w *wire) {
	w.byte(&c.Ask)
	w.bytes(&c.Name)
	w.bytes(&c.Data)
	w.u64(&c.At)
	w.u32(&c.Most)
}

// codeOver is the reply's code when the run's time is up.
const codeOver = 1 << 31

// reply has the negative of a hostcall.Code, or zero and what was asked for.
type reply struct {
	Code uint32
	Data []byte
}

func (a *reply) fields(w *wire) {
	w.u32(&a.Code)
	w.bytes(&a.Data)
}

// The streams of kindOutput, whose message is one of these and then bytes.
const (
	streamStdout byte = iota
	streamStderr
	streamLog
	streamJournal
	streams
)

// ready says what holds the process in.
type ready struct{ Mechanisms []mechanism }

type mechanism struct{ Name, Missing, Detail string }

func (r *ready) fields(w *wire) {
	list(w, &r.Mechanisms, 12, func(w *wire, m *mechanism) {
		w.text(&m.Name)
		w.text(&m.Missing)
		w.text(&m.Detail)
	})
}

// refusal is a wasm.RefusedError.
type refusal struct {
	Reason, Text    string
	Offset          uint64
	Needed, Granted uint64
}

func (r *refusal) fields(w *wire) {
	w.text(&r.Reason)
	w.text(&r.Text)
	w.u64(&r.Offset)
	w.u64(&r.Needed)
	w.u64(&r.Granted)
}

// empty is a message whose kind says it all.
type empty struct{}

func (empty) fields(*wire) {}

// fault is an error of the host's own.
type fault struct{ Text string }

func (f *fault) fields(w *wire) { w.text(&f.Text) }

// ending is how a run ended, as the process saw it.
type ending struct {
	Cause                    byte // a wasm.Cause
	Code                     uint32
	Trap                     string
	Trace                    []string
	Instructions, SIMD, Fuel uint64
	Peak                     uint64
	Taken                    uint64 // bytes of the input that the unit was given
	Usage                    [6]uint64
	Probing                  []string
	Denials                  []Denial
}

func (e *ending) fields(w *wire) {
	w.byte(&e.Cause)
	w.u32(&e.Code)
	w.text(&e.Trap)
	w.texts(&e.Trace)
	for _, v := range []*uint64{&e.Instructions, &e.SIMD, &e.Fuel, &e.Peak, &e.Taken} {
		w.u64(v)
	}
	for i := range e.Usage {
		w.u64(&e.Usage[i])
	}
	w.texts(&e.Probing)
	list(w, &e.Denials, 8, func(w *wire, d *Denial) {
		w.text(&d.Reason)
		w.text(&d.Grant)
	})
}
