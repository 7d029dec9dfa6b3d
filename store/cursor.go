package store

import (
	"encoding/binary"
	"errors"
	"io"
)

// cursor reads a segment through one window, in either direction.
type cursor struct {
	*segment
	size     int64 // nothing beyond is read
	ahead    int64 // how much to read at once
	backward bool
	window   []byte
	from     int64 // where the window begins
}

const (
	oneRecord   = 4 << 10
	manyRecords = 64 << 10
)

func (s *segment) cursor(size, ahead int64) *cursor {
	return &cursor{segment: s, size: size, ahead: ahead}
}

// bytes returns n bytes at a position, borrowed until the next call.
func (c *cursor) bytes(at, n int64) ([]byte, error) {
	if at < 0 || n > c.size-at {
		return nil, errShort
	}
	if at < c.from || at+n > c.from+int64(len(c.window)) {
		if err := c.fill(at, at+n); err != nil {
			return nil, err
		}
	}
	return c.window[at-c.from:][:n], nil
}

// fill moves the window over a span and as much more as is read at once.
func (c *cursor) fill(from, end int64) error {
	more := max(end-from, c.ahead)
	if c.backward {
		from = max(0, end-more)
	} else {
		end = min(from+more, c.size)
	}
	if n := int(end - from); cap(c.window) >= n {
		c.window = c.window[:n]
	} else {
		c.window = make([]byte, n)
	}
	c.from = from
	if n, err := c.file.ReadAt(c.window, from); n < len(c.window) {
		c.window = c.window[:0]
		if errors.Is(err, io.EOF) {
			return errShort // it was cut meanwhile
		}
		return err
	}
	return nil
}

// frame reads the frame at a position. Its data is borrowed.
func (c *cursor) frame(at int64) (frame, error) {
	head, err := c.bytes(at, frameHead)
	if err != nil {
		return frame{}, err
	}
	length, err := peekFrame(head)
	if err != nil {
		return frame{}, err
	}
	b, err := c.bytes(at, length)
	if err != nil {
		return frame{}, err
	}
	return parseFrame(b, &c.salt, c.start+at)
}

// frameBefore reads the frame that ends at a position, and where it begins.
func (c *cursor) frameBefore(end int64) (f frame, at int64, err error) {
	b, err := c.bytes(end-4, 4)
	if err != nil {
		return frame{}, 0, err
	}
	at = end - int64(binary.LittleEndian.Uint32(b))
	if at < segmentHead || end-at < minFrame {
		return frame{}, 0, errTorn
	}
	f, err = c.frame(at)
	if err == nil && at+f.length != end {
		err = errTorn
	}
	return f, at, err
}

// wholeTail tells, from the last few frames alone, whether everything up to the
// end of the segment is whole, where the part begins that may not be on the disk
// yet, and whether another segment follows.
func (c *cursor) wholeTail() (doubt int64, ended, ok bool) {
	if c.size == segmentHead {
		return segmentHead, false, true
	}
	last, at, err := c.frameBefore(c.size)
	if err != nil {
		return 0, false, false
	}
	doubt = at - last.back
	for p := doubt; p < at; {
		f, err := c.frame(p)
		if err != nil {
			return 0, false, false
		}
		if p += f.length; p > at {
			return 0, false, false
		}
	}
	return doubt, last.kind == endFrame, true
}

// wholeUpTo is the end of the frames that can be read from a position on.
func (c *cursor) wholeUpTo(from int64) (end int64, why error) {
	for end = from; end < c.size; {
		f, err := c.frame(end)
		if err != nil {
			return end, err
		}
		end += f.length
	}
	return end, nil
}

// provenBeyond finds a whole frame after a bad place that was written when that
// place was on the disk already. Then the bad place isn't a torn write.
func (c *cursor) provenBeyond(bad int64) bool {
	for at := bad + 1; at+minFrame <= c.size; at++ {
		head, err := c.bytes(at, frameHead)
		if err != nil {
			return false
		}
		if head[0] != frameMagic[0] || string(head[:4]) != frameMagic {
			continue
		}
		if f, err := c.frame(at); err == nil && at-f.back > bad {
			return true
		}
	}
	return false
}
