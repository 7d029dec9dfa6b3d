package wasm

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

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
const stateTag = "joulebox.state/2"

// StateHash addresses the guest's state: BLAKE3 over the tag, the size of its
// memory as a big-endian 64-bit number, the memory, and each global of
// stateGlobals: its name's length and its value's low 64 bits, both as such
// numbers, with the name between them. Tables and references aren't in it.
func (c *Call) StateHash() joulebox.ID {
	h := joulebox.NewHasher()
	mem := c.Memory()
	h.Write(binary.BigEndian.AppendUint64([]byte(stateTag), uint64(len(mem))))
	h.Write(mem)
	if c.run.guest == nil {
		return h.ID()
	}
	var b []byte
	for _, name := range c.run.module.stateGlobals() {
		b = append(binary.BigEndian.AppendUint64(b[:0], uint64(len(name))), name...)
		h.Write(binary.BigEndian.AppendUint64(b, c.run.guest.ExportedGlobal(name).Get()))
	}
	return h.ID()
}

// stateGlobals are the globals that the module itself exports, in the order of
// their names, and then those that it keeps to itself, in the order of their
// indices. References are left out.
func (m *Module) stateGlobals() []string {
	m.globalsOnce.Do(func() {
		for _, name := range slices.Sorted(maps.Keys(m.exports)) {
			if x := m.exports[name]; x.Kind == rewrite.GlobalKind && !x.Reference {
				m.globals = append(m.globals, name)
			}
		}
		for _, i := range m.info.Hidden {
			m.globals = append(m.globals, rewrite.HiddenGlobal+strconv.Itoa(i))
		}
	})
	return m.globals
}

// Metering names the way in which this build counts instructions. The same
// module has the same counts wherever this name is the same.
func Metering() string { return fmt.Sprintf("joulebox.meter/%d", rewrite.Version) }
