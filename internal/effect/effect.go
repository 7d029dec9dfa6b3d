// Package effect is what one host call did to a guest. Nothing else comes into a
// run from outside, so whoever records every effect can replay the run (§8).
package effect

// Call is one host call that has been answered.
type Call struct {
	Module, Name string
	Args         []uint64 // valid during Record
	Result       uint64   // an errno, a length or a code, as it was left on the stack
	Units        uint64   // what it was charged, and paid
	Writes       []Write
	Broke        bool // it broke off and ended the run: the next charge was too much
}

// Write is guest memory that the call has written.
type Write struct {
	At    uint32
	Bytes []byte // valid during Record
}

// Recorder is shown every call of a run, in order. A call that can't be recorded
// ends the run, or fails for a guest that can't be ended.
type Recorder interface{ Record(Call) error }

// Refuse ends the run of a guest whose call couldn't be recorded, and then
// doesn't return. A guest that can't be ended goes on.
func Refuse(guest any) {
	if g, ok := guest.(interface{ Cancel() }); ok {
		g.Cancel()
	}
}
