package journal

import (
	"crypto/subtle"

	"github.com/joulebox/joulebox"
)

// Version is the version of the entries' schema. docs/journal.md has it whole.
const Version = 2

// Entry is one of *Begin, *Call, *State, *Cut and *End: all entries but the salt.
type Entry interface {
	kind() kind
	fields(e *encoder)
}

type kind uint64

// The kinds of entries. They are part of the schema.
const (
	kindBegin kind = iota
	kindCall
	kindBroke
	kindState
	kindCut
	kindEnd
)

// Begin is the second entry: what is run, and all that the unit is given before
// it runs.
type Begin struct {
	Unit   joulebox.ID // the descriptor's
	Module joulebox.ID // the module that is executed
	Entry  string      // the export that is called; empty is the module's default
	// Metering names the way in which instructions are counted. Counts of another
	// way differ.
	Metering string
	Limits   Limits
	// Every is how many units pass between two states, at the least.
	Every uint64
	Args  []string
	Env   []Variable
}

// Limits are the bounds of the run that its course depends on.
type Limits struct {
	Fuel, Slice uint64 // units
	Memory      uint64 // bytes
	Stack       uint64 // 8-byte words
	Vector      uint64 // units for a vector instruction
}

// Variable is one variable of the environment. A secret one has its digest for a
// value.
type Variable struct {
	Name   string
	Value  string      // empty if Secret
	Secret bool        // the value is declared to be a secret
	Digest joulebox.ID // BLAKE3(salt ‖ value); zero unless Secret
}

// Secret is how a secret enters a journal (§8).
func Secret(salt [SaltSize]byte, value string) joulebox.ID {
	return joulebox.Sum(append(salt[:], value...))
}

// Reveals reports whether a value is the secret one that the journal has under
// the digest.
func (v *Variable) Reveals(salt [SaltSize]byte, value string) bool {
	got := Secret(salt, value)
	return subtle.ConstantTimeCompare(got[:], v.Digest[:]) == 1
}

// Call is one host call with all that it brought into the guest.
type Call struct {
	Name   string // module and function, with a dot between
	Args   []uint64
	Result uint64 // as it was left on the stack; zero if Broke
	Units  uint64 // what it was charged, and paid
	Writes []Write
	// Broke says that the next charge was more than there was left: it ended the run.
	Broke bool
}

// Write is guest memory that a call has written: bytes, or a secret value.
type Write struct {
	At     uint32
	Bytes  []byte // nil for a secret
	Secret int    // the index in Begin.Env, if Bytes is nil
}

// State is the guest's state after the call before it.
type State struct {
	Units  uint64 // used until here
	Calls  uint64 // answered until here
	Memory uint64 // bytes
	Hash   joulebox.ID
}

// Cut is the call that didn't fit any more. It ended the run, and its effects
// aren't in the journal.
type Cut struct {
	Name  string
	Args  []uint64
	Units uint64
}

// End is the last entry: how the run ended and its last state. A journal without
// one isn't whole.
type End struct {
	Cause string // one of the engine's names
	Code  uint64 // what the unit gave for an exit code
	Trap  string // which one, if it trapped
	// Units are all that were used, Instructions those of the unit's own code, and
	// Vectors the vector instructions among them.
	Units, Instructions, Vectors uint64
	Peak                         uint64 // bytes
	State                        State  // with the zero Hash after a Cut
}

func (*Begin) kind() kind { return kindBegin }
func (*State) kind() kind { return kindState }
func (*Cut) kind() kind   { return kindCut }
func (*End) kind() kind   { return kindEnd }
func (c *Call) kind() kind {
	if c.Broke {
		return kindBroke
	}
	return kindCall
}
