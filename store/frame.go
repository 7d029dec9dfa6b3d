package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
)

// A segment is a header and frames, nothing between them.
//
//	header  "joulebox-log 1\n\n", start u64, salt [32]byte, check [8]byte
//	frame   "jbr1", length u32, back u32, keys u16, kind u16,
//	        keys × 32 bytes, data, check [16]byte, length u32
//
// Integers are little-endian. length is the whole frame's, and stands at both
// ends so that a log can be read backwards. back is the distance to the first
// frame that wasn't known to be on the disk when this one was written: before
// that one everything was, so a reader who finds the last frame and those back
// to there whole has found the whole log whole.
//
// A frame of kind 1 is the last of its segment and no record: who finds one looks
// for the next segment, who finds none needn't.
//
// check covers the salt of the segment and the frame's place, so a frame that
// was moved, or that someone wrote into a record's data, is no frame.
const (
	frameMagic   = "jbr1"
	frameHead    = 16
	frameTail    = 20
	frameCheck   = 16
	minFrame     = frameHead + frameTail
	maxFrame     = minFrame + MaxKeys*32 + MaxRecordBytes
	segmentHead  = 64
	segmentMagic = "joulebox-log 1\n\n"
)

type salt [32]byte

// kind is what a frame is.
type kind uint16

const (
	recordFrame kind = 0
	endFrame    kind = 1
)

// frame is one record as it lies in a segment. Its data is borrowed.
type frame struct {
	kind   kind
	length int64
	back   int64
	keys   []joulebox.ID
	data   []byte
}

var (
	errShort = errors.New("it ends early")
	errTorn  = errors.New("its check doesn't match")
)

func frameLength(data []byte, keys []joulebox.ID) int64 {
	return minFrame + int64(len(keys))*32 + int64(len(data))
}

// appendFrame adds a frame that will lie at offset at.
func appendFrame(b []byte, s *salt, k kind, at, back int64, data []byte, keys []joulebox.ID) []byte {
	length := uint32(frameLength(data, keys))
	begin := len(b)
	b = append(b, frameMagic...)
	b = binary.LittleEndian.AppendUint32(b, length)
	b = binary.LittleEndian.AppendUint32(b, uint32(back))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(keys)))
	b = binary.LittleEndian.AppendUint16(b, uint16(k))
	for i := range keys {
		b = append(b, keys[i][:]...)
	}
	b = append(b, data...)
	check := s.check(at, b[begin:])
	b = append(b, check[:frameCheck]...)
	return binary.LittleEndian.AppendUint32(b, length)
}

// check is the seal of bytes at a place.
func (s *salt) check(at int64, body []byte) joulebox.ID {
	digest := joulebox.Sum(body)
	var b [72]byte
	copy(b[:], s[:])
	binary.LittleEndian.PutUint64(b[32:], uint64(at))
	copy(b[40:], digest[:])
	return joulebox.Sum(b[:])
}

// peekFrame reads a frame's length from its first frameHead bytes.
func peekFrame(head []byte) (length int64, err error) {
	if len(head) < frameHead {
		return 0, errShort
	}
	length = int64(binary.LittleEndian.Uint32(head[4:]))
	keys := int64(binary.LittleEndian.Uint16(head[12:]))
	switch {
	case string(head[:4]) != frameMagic:
		return 0, errors.New("no frame begins here")
	case kindOf(head) > endFrame || kindOf(head) == endFrame && length != minFrame:
		return 0, fmt.Errorf("got a frame of kind %d and %d bytes, which there is none of", kindOf(head), length)
	case keys > MaxKeys || length < minFrame+keys*32 || length > maxFrame:
		return 0, fmt.Errorf("got %d bytes and %d keys, which no frame has", length, keys)
	}
	return length, nil
}

func kindOf(head []byte) kind { return kind(binary.LittleEndian.Uint16(head[14:])) }

// parseFrame reads the frame that b is, from offset at.
func parseFrame(b []byte, s *salt, at int64) (frame, error) {
	length, err := peekFrame(b)
	if err != nil {
		return frame{}, err
	}
	if int64(len(b)) < length {
		return frame{}, errShort
	}
	b = b[:length]
	tail := b[length-frameTail:]
	check := s.check(at, b[:length-frameTail])
	if !bytes.Equal(tail[:frameCheck], check[:frameCheck]) || !bytes.Equal(tail[frameCheck:], b[4:8]) {
		return frame{}, errTorn
	}
	f := frame{kind: kindOf(b), length: length, back: int64(binary.LittleEndian.Uint32(b[8:]))}
	rest := b[frameHead : length-frameTail]
	for range binary.LittleEndian.Uint16(b[12:]) {
		f.keys = append(f.keys, joulebox.ID(rest[:32]))
		rest = rest[32:]
	}
	f.data = rest
	return f, nil
}

func (s *salt) header(start int64) []byte {
	b := append([]byte{}, segmentMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(start))
	b = append(b, s[:]...)
	check := s.check(start, b)
	return append(b, check[:segmentHead-len(b)]...)
}

func parseHeader(b []byte, start int64) (s salt, err error) {
	if len(b) != segmentHead {
		return salt{}, errShort
	}
	if string(b[:len(segmentMagic)]) != segmentMagic {
		return salt{}, fmt.Errorf("it doesn't begin as a log of this version")
	}
	copy(s[:], b[len(segmentMagic)+8:])
	if !bytes.Equal(s.header(start), b) {
		return salt{}, errTorn
	}
	return s, nil
}
