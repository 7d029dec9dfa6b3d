package wasi

import (
	"context"
	"encoding/binary"
	"unicode/utf8"

	"github.com/joulebox/joulebox/internal/effect"
)

// Guest is a run as the calls see it; *wasm.Call is one.
type Guest interface {
	Memory() []byte
	Charge(units uint64)
	Exit(code uint32)
	Instructions() uint64
}

// call is one host call under way. A run makes one at a time, so it is reused.
type call struct {
	ctx context.Context
	g   Guest
	c   *Context
	v   *version
	mem []byte

	units  uint64         // charged so far
	writes []effect.Write // kept only for a recorder
}

// charge draws units from the guest's tank, which may end the run.
func (k *call) charge(units uint64) {
	if units > 0 {
		k.g.Charge(units)
		k.units += units
	}
}

// wrote notes that the call has written n bytes at ptr.
func (k *call) wrote(ptr, n uint32) {
	if k.c.recorder != nil && n > 0 {
		k.writes = append(k.writes, effect.Write{At: ptr, Bytes: k.mem[ptr:][:n]})
	}
}

// slice is guest memory from ptr on; false when any of it is out of bounds. The
// sum is taken in 64 bits: ptr+n wraps in 32.
func (k *call) slice(ptr, n uint32) ([]byte, bool) {
	end := uint64(ptr) + uint64(n)
	if end > uint64(len(k.mem)) {
		return nil, false
	}
	return k.mem[ptr:end:end], true
}

// array is count records of size bytes.
func (k *call) array(ptr, count, size uint32) ([]byte, bool) {
	n := uint64(count) * uint64(size)
	if n > uint64(len(k.mem)) {
		return nil, false
	}
	return k.slice(ptr, uint32(n))
}

func (k *call) putU32(ptr, v uint32) Errno {
	b, ok := k.slice(ptr, 4)
	if !ok {
		return EFault
	}
	binary.LittleEndian.PutUint32(b, v)
	k.wrote(ptr, 4)
	return Success
}

func (k *call) putU64(ptr uint32, v uint64) Errno {
	b, ok := k.slice(ptr, 8)
	if !ok {
		return EFault
	}
	binary.LittleEndian.PutUint64(b, v)
	k.wrote(ptr, 8)
	return Success
}

// fits reports whether an answer of n bytes can be written at ptr. It is asked
// before anything happens, so that a bad pointer has no effect.
func (k *call) fits(ptr, n uint32) bool {
	_, ok := k.slice(ptr, n)
	return ok
}

// maxPath is PATH_MAX; the kernel would refuse more anyway.
const maxPath = 4096

// path reads a path out of guest memory and charges for it.
func (k *call) path(ptr, n uint32) (string, Errno) {
	b, ok := k.slice(ptr, n)
	if !ok {
		return "", EFault
	}
	if n > maxPath {
		return "", ENametoolong
	}
	k.chargeBytes(uint64(n))
	return checkPath(string(b))
}

// checkPath refuses what can't be a path at all.
func checkPath(p string) (string, Errno) {
	if !utf8.ValidString(p) {
		return "", EIlseq
	}
	for i := range len(p) {
		if p[i] == 0 {
			return "", EInval
		}
	}
	if p == "" {
		return "", ENoent
	}
	return p, Success
}

func (k *call) chargeBytes(n uint64) { k.charge(k.c.tolls.Bytes(n)) }

func (k *call) chargeStorage() { k.charge(k.c.tolls.Storage) }
