package wasm

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// Watcher is shown a run at the places where its state depends on nothing but
// its inputs: after each host call, and once it has ended (§8).
type Watcher interface {
	Called(c *Call)
	// Ended comes before the run's memory is gone. It can't end the run any more.
	Ended(c *Call, e Exit)
}

// Halt repeats an ending that came from outside, which no input of the run
// explains: the run ends at the first look that finds this count.
type Halt struct {
	Units uint64 // Exit.FuelUsed of the run that is repeated
	Cause Cause
}

// Cancel ends the run with the cause Cancelled; it doesn't return.
func (c *Call) Cancel() { c.run.stop(stop{cause: Cancelled}) }

// stateTag begins what StateHash is taken over.
const stateTag = "joulebox.state/1"

// StateHash addresses what the guest's code can see of its own state: BLAKE3 over
// the tag, the size of its memory as a big-endian 64-bit number, the memory, and
// each global that it exports, in the order of their names: the name's length
// and the value's 64 bits, both as such numbers, with the name between them.
func (c *Call) StateHash() joulebox.ID {
	h := joulebox.NewHasher()
	mem := c.Memory()
	h.Write(binary.BigEndian.AppendUint64([]byte(stateTag), uint64(len(mem))))
	h.Write(mem)
	if c.run.guest == nil {
		return h.ID()
	}
	for _, name := range c.run.module.globals() {
		b := append(binary.BigEndian.AppendUint64(nil, uint64(len(name))), name...)
		h.Write(binary.BigEndian.AppendUint64(b, c.run.guest.ExportedGlobal(name).Get()))
	}
	return h.ID()
}

// globals are the names of the globals that the module itself exports.
func (m *Module) globals() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.exports)) {
		if m.exports[name].Kind == rewrite.GlobalKind {
			names = append(names, name)
		}
	}
	return names
}

// Metering names the way in which this build counts instructions. The same
// module has the same counts wherever this name is the same.
func Metering() string { return fmt.Sprintf("joulebox.meter/%d", rewrite.Version) }
