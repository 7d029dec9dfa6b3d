package journal

import (
	"encoding/binary"
	"math"

	"github.com/joulebox/joulebox"
)

// CBOR's major types that entries are made of.
const (
	majorUint  = 0
	majorBytes = 2
	majorText  = 3
	majorArray = 4
)

// encoder appends deterministic CBOR: heads are always the shortest.
type encoder struct{ b []byte }

func (e *encoder) head(major byte, n uint64) { e.b = appendHead(e.b, major<<5, n) }
func (e *encoder) uint(n uint64)             { e.head(majorUint, n) }
func (e *encoder) array(n int)               { e.head(majorArray, uint64(n)) }
func (e *encoder) id(id joulebox.ID)         { e.bytes(id[:]) }

func (e *encoder) bytes(b []byte) {
	e.head(majorBytes, uint64(len(b)))
	e.b = append(e.b, b...)
}

func (e *encoder) text(s string) {
	e.head(majorText, uint64(len(s)))
	e.b = append(e.b, s...)
}

// raw is text that needn't be UTF-8.
func (e *encoder) raw(s string) {
	e.head(majorBytes, uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) uints(list ...uint64) {
	e.array(len(list))
	for _, n := range list {
		e.uint(n)
	}
}

// appendHead adds a CBOR head of the major type in the upper three bits of major.
func appendHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

// appendBody is an entry's array without its check: what the check is taken over.
func appendBody(b []byte, entry Entry) []byte {
	e := encoder{b}
	e.uint(uint64(entry.kind()))
	entry.fields(&e)
	return e.b
}

// lengths are how many items an entry of each kind has, check and kind included.
var lengths = [...]int{kindBegin: 11, kindCall: 7, kindBroke: 6, kindState: 6, kindCut: 5, kindEnd: 10}

func (v *Begin) fields(e *encoder) {
	e.uint(Version)
	e.id(v.Unit)
	e.id(v.Module)
	e.text(v.Entry)
	e.text(v.Metering)
	e.uints(v.Limits.Fuel, v.Limits.Slice, v.Limits.Memory, v.Limits.Stack, v.Limits.Vector)
	e.uint(v.Every)
	e.array(len(v.Args))
	for _, a := range v.Args {
		e.raw(a)
	}
	e.array(len(v.Env))
	for i := range v.Env {
		v.Env[i].fields(e)
	}
}

func (v *Variable) fields(e *encoder) {
	if v.Secret {
		e.array(3)
		e.raw(v.Name)
		e.id(v.Digest)
		e.text("secret")
		return
	}
	e.array(2)
	e.raw(v.Name)
	e.raw(v.Value)
}

func (v *Call) fields(e *encoder) {
	e.text(v.Name)
	e.uints(v.Args...)
	if !v.Broke {
		e.uint(v.Result)
	}
	e.uint(v.Units)
	e.array(len(v.Writes))
	for _, w := range v.Writes {
		e.array(2)
		e.uint(uint64(w.At))
		if w.Bytes == nil {
			e.uint(uint64(w.Secret))
		} else {
			e.bytes(w.Bytes)
		}
	}
}

func (v *State) fields(e *encoder) {
	e.uint(v.Units)
	e.uint(v.Calls)
	e.uint(v.Memory)
	e.hash(v.Hash)
}

// hash writes the zero id as no bytes.
func (e *encoder) hash(id joulebox.ID) {
	if id.IsZero() {
		e.bytes(nil)
		return
	}
	e.id(id)
}

func (v *Cut) fields(e *encoder) {
	e.text(v.Name)
	e.uints(v.Args...)
	e.uint(v.Units)
}

func (v *End) fields(e *encoder) {
	e.text(v.Cause)
	e.uint(v.Code)
	e.text(v.Trap)
	e.uints(v.Units, v.Instructions, v.Vectors)
	e.uint(v.Peak)
	e.uint(v.State.Calls)
	e.uint(v.State.Memory)
	e.hash(v.State.Hash)
}
