package dcbor

import (
	"encoding/binary"
	"math"
)

// The major types of RFC 8949 §3.1.
const (
	uintType = iota
	negType
	bytesType
	textType
	arrayType
	mapType
	tagType
	simpleType
)

var majorNames = [...]string{"unsigned integer", "negative integer", "byte string", "text string", "array", "map", "tag", "simple value or float"}

const (
	indefinite = 31   // additional information
	breakByte  = 0xff // ends an indefinite item
)

// head is the first bytes of an item.
type head struct {
	major byte
	info  byte   // additional information, 0 to 31
	arg   uint64 // value, length or count; 0 when indefinite
	size  int    // bytes of the head itself
}

// readHead reads the head at b[at:]; it is well formed but may be longer than
// needed.
func readHead(b []byte, at int) (head, error) {
	if at >= len(b) {
		return head{}, fail(at, "the input ends where an item should begin")
	}
	h := head{major: b[at] >> 5, info: b[at] & 31, size: 1}
	switch {
	case h.info < 24:
		h.arg = uint64(h.info)
		return h, nil
	case h.info <= 27:
		h.size += 1 << (h.info - 24)
	case h.info == indefinite:
		return h, nil
	default:
		return head{}, fail(at, "additional information %d is reserved", h.info)
	}
	if len(b)-at < h.size {
		return head{}, fail(at, "the input ends in the head of a %s", majorNames[h.major])
	}
	for _, x := range b[at+1 : at+h.size] {
		h.arg = h.arg<<8 | uint64(x)
	}
	return h, nil
}

// shortest reports whether no shorter head has the same argument.
func (h head) shortest() bool { return h.size == headSize(h.arg) }

func headSize(arg uint64) int {
	switch {
	case arg < 24:
		return 1
	case arg <= math.MaxUint8:
		return 2
	case arg <= math.MaxUint16:
		return 3
	case arg <= math.MaxUint32:
		return 5
	}
	return 9
}

// appendHead appends the shortest head.
func appendHead(dst []byte, major byte, arg uint64) []byte {
	first := major << 5
	switch headSize(arg) {
	case 1:
		return append(dst, first|byte(arg))
	case 2:
		return append(dst, first|24, byte(arg))
	case 3:
		return binary.BigEndian.AppendUint16(append(dst, first|25), uint16(arg))
	case 5:
		return binary.BigEndian.AppendUint32(append(dst, first|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(dst, first|27), arg)
}
