package hostcall

import (
	"context"
	"encoding/binary"
	"unicode/utf8"

	"github.com/joulebox/joulebox/internal/effect"
)

// Bounds of one call, in bytes. They are part of the ABI.
const (
	MaxName     = 4096    // a path, an endpoint
	MaxKey      = 1024    // a key
	MaxValue    = 1 << 20 // a value
	MaxTransfer = 1 << 20 // what one storage call or one direction of egress moves
	MaxLog      = 8192    // a log message
)

// call is one host call under way.
type call struct {
	ctx context.Context
	s   Services
	g   Guest
	mem []byte

	units  uint64
	writes []effect.Write
}

// charge draws units from the guest's tank, which may end the run.
func (k *call) charge(units uint64) {
	if units > 0 {
		k.g.Charge(units)
		k.units += units
	}
}

// wrote notes that the call has written n bytes at ptr.
func (k *call) wrote(ptr uint64, n int) {
	if n > 0 {
		at := uint32(ptr)
		k.writes = append(k.writes, effect.Write{At: at, Bytes: k.mem[at:][:n]})
	}
}

// bytes is guest memory; the sum is taken in 64 bits, where it can't wrap.
func (k *call) bytes(ptr, n uint64) ([]byte, bool) {
	at, end := uint64(uint32(ptr)), uint64(uint32(ptr))+uint64(uint32(n))
	if end > uint64(len(k.mem)) {
		return nil, false
	}
	return k.mem[at:end:end], true
}

// in is an argument of at most limit bytes, charged for.
func (k *call) in(ptr, n uint64, limit uint32) ([]byte, Code) {
	b, ok := k.bytes(ptr, n)
	if !ok {
		return nil, Invalid
	}
	if uint32(n) > limit {
		return nil, TooLarge
	}
	k.chargeBytes(len(b))
	return b, 0
}

// name is a path or an endpoint.
func (k *call) name(ptr, n uint64) (string, Code) {
	b, code := k.in(ptr, n, MaxName)
	if code != 0 {
		return "", code
	}
	if len(b) == 0 || !utf8.Valid(b) {
		return "", Invalid
	}
	for _, c := range b {
		if c == 0 {
			return "", Invalid
		}
	}
	return string(b), 0
}

func (k *call) chargeBytes(n int) { k.charge(k.s.Tolls().Bytes(uint64(n))) }

// done is a length, or the code of an error.
func done(n int, err error) int64 {
	if err != nil {
		return int64(codeOf(err))
	}
	return int64(n)
}

func putU64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }
