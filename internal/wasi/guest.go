package wasi

import (
	"context"
	"encoding/binary"
	"unicode/utf8"
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
	return Success
}

func (k *call) putU64(ptr uint32, v uint64) Errno {
	b, ok := k.slice(ptr, 8)
	if !ok {
		return EFault
	}
	binary.LittleEndian.PutUint64(b, v)
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

func (k *call) chargeBytes(n uint64) {
	if units := k.c.tolls.Bytes(n); units > 0 {
		k.g.Charge(units)
	}
}

func (k *call) chargeStorage() { k.g.Charge(k.c.tolls.Storage) }
