package journal

import (
	"bytes"
	"unicode/utf8"
)

// Bounds of what an entry may hold: of a call's arguments, which is more than any
// takes, and of a unit's arguments or variables.
const (
	maxArgs    = 16
	maxStrings = 4096
)

// entry reads what follows an entry's kind.
func (d *decoder) entry(k kind) Entry {
	switch k {
	case kindBegin:
		return d.begin()
	case kindState:
		v := &State{Units: d.uint(), Calls: d.uint(), Memory: d.uint(), Hash: d.hash()}
		if v.Hash.IsZero() {
			d.fail("a state without a hash")
		}
		return v
	case kindCut:
		return &Cut{Name: d.name(""), Args: d.uints(maxArgs), Units: d.uint()}
	case kindEnd:
		return d.end()
	}
	v := d.call
	v.Name, v.Args, v.Broke, v.Result = d.name(v.Name), d.uintsInto(v.Args, maxArgs), k == kindBroke, 0
	if !v.Broke {
		v.Result = d.uint()
	}
	v.Units = d.uint()
	v.Writes = d.writesInto(v.Writes)
	return v
}

func (d *decoder) begin() *Begin {
	if v := d.uint(); d.err == nil && v != Version {
		d.fail("version: got %d, want %d", v, Version)
	}
	v := &Begin{Unit: d.id(), Module: d.id(), Entry: d.text(), Metering: d.text()}
	d.tuple(5)
	v.Limits = Limits{Fuel: d.uint(), Slice: d.uint(), Memory: d.uint(), Stack: d.uint(), Vector: d.uint()}
	v.Every = d.uint()
	v.Args = make([]string, d.array(maxStrings))
	for i := range v.Args {
		v.Args[i] = d.raw()
	}
	v.Env = make([]Variable, d.array(maxStrings))
	for i := range v.Env {
		d.variable(&v.Env[i])
	}
	return v
}

func (d *decoder) variable(v *Variable) {
	n := d.array(3)
	v.Name = d.raw()
	switch n {
	case 2:
		v.Value = d.raw()
	case 3:
		v.Secret, v.Digest = true, d.id()
		if word := d.text(); d.err == nil && word != "secret" {
			d.fail("variable: got the mark %q, want %q", word, "secret")
		}
	default:
		d.fail("variable: got %d items, want 2, or 3 for a secret", n)
	}
}

// name is that of a call; what it is called with is for the replay to judge. It is
// often the last one's, which isn't made again.
func (d *decoder) name(last string) string {
	b := d.string(majorText)
	if d.err == nil && last != "" && string(b) == last {
		return last
	}
	if !utf8.Valid(b) {
		d.fail("a text string isn't UTF-8")
	}
	if d.err == nil && !bytes.Contains(b, []byte(".")) {
		d.fail("call: got %q, want a module and a function with a dot between", b)
	}
	return string(b)
}

func (d *decoder) writesInto(list []Write) []Write {
	n := d.array(maxWrites)
	if list = list[:0]; cap(list) < n || list == nil {
		list = make([]Write, 0, n)
	}
	for range n {
		list = append(list, d.write())
	}
	return list
}

func (d *decoder) write() (w Write) {
	d.tuple(2)
	w.At = d.u32()
	if len(d.b) > 0 && d.b[0]>>5 == majorUint {
		w.Secret = int(d.u32())
		return w
	}
	if w.Bytes = d.bytes(); w.Bytes == nil {
		w.Bytes = []byte{}
	}
	return w
}

func (d *decoder) end() *End {
	v := &End{Cause: d.text(), Code: d.uint(), Trap: d.text()}
	d.tuple(3)
	v.Units, v.Instructions, v.Vectors = d.uint(), d.uint(), d.uint()
	v.Peak = d.uint()
	v.State = State{Units: v.Units, Calls: d.uint(), Memory: d.uint(), Hash: d.hash()}
	return v
}
