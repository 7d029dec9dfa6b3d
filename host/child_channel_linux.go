package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A frame is the length of its payload (32 bits, little-endian), its kind, and
// the payload.
const (
	frameHeader = 5
	// maxFrame bounds a payload: one transfer of a host call, or a unit's arguments
	// and environment, with room for what is around them.
	maxFrame = 4 << 20
	// maxSetup bounds that of the first message, which can hold the object of a
	// large image.
	maxSetup = 64 << 20
	// maxSent is how many descriptors the kernel passes at a time.
	maxSent = 250
)

// errNonsense says that the other side doesn't keep to the protocol.
var errNonsense = errors.New("nonsense")

// channel is one end of the socket pair between supervisor and host process. One
// goroutine reads it; several may write. Reads and writes block the thread: a
// wake-up through the runtime's poller costs more than an empty run.
type channel struct {
	fd   int
	most int // bytes of payload that are taken
	buf  []byte
	have []byte // received and not yet taken, a part of buf
	fds  []int  // descriptors that came along, for the side that takes them
	take bool   // take descriptors at all
	oob  []byte // where they come

	writing sync.Mutex
	out     []byte
}

const channelBuffer = 64 << 10

func newChannel(fd, most int, takeDescriptors bool) *channel {
	return &channel{fd: fd, most: most, take: takeDescriptors, buf: make([]byte, channelBuffer)}
}

// receive waits for a frame. The payload is good until the next one. An orderly
// end, and that of a process that died, is io.EOF.
func (c *channel) receive() (kind, []byte, error) {
	for len(c.have) < frameHeader {
		if err := c.fill(frameHeader); err != nil {
			return 0, nil, err
		}
	}
	n := int(binary.LittleEndian.Uint32(c.have))
	if n > c.most {
		return 0, nil, fmt.Errorf("%w: a message of %d bytes, want at most %d", errNonsense, n, c.most)
	}
	for len(c.have) < frameHeader+n {
		if err := c.fill(frameHeader + n); err != nil {
			return 0, nil, err
		}
	}
	k, payload := kind(c.have[4]), c.have[frameHeader:frameHeader+n]
	c.have = c.have[frameHeader+n:]
	return k, payload, nil
}

// fill receives more of a frame of need bytes. The buffer grows with what has
// come, not with what was announced.
func (c *channel) fill(need int) error {
	if len(c.have) == 0 {
		c.have = c.buf[:0]
	} else if cap(c.have) < need && cap(c.have) < len(c.have)+channelBuffer/2 {
		grown := make([]byte, len(c.have), min(need, 2*len(c.have))+channelBuffer)
		copy(grown, c.have)
		c.have = grown
	}
	n, err := c.read(c.have[len(c.have):cap(c.have)])
	if err != nil {
		return err
	}
	if n == 0 {
		if len(c.have) > 0 {
			return io.ErrUnexpectedEOF
		}
		return io.EOF
	}
	c.have = c.have[:len(c.have)+n]
	return nil
}

// read reads bytes. Descriptors that come along are the kernel's to close for a
// side that takes none.
func (c *channel) read(p []byte) (int, error) {
	if !c.take {
		return transfer(func() (int, error) { return unix.Read(c.fd, p) })
	}
	if c.oob == nil {
		c.oob = make([]byte, unix.CmsgSpace(4*maxSent))
	}
	var control int
	n, err := transfer(func() (n int, err error) {
		n, control, _, _, err = unix.Recvmsg(c.fd, p, c.oob, unix.MSG_CMSG_CLOEXEC)
		return n, err
	})
	if err != nil || control == 0 {
		return n, err
	}
	return n, c.keep(c.oob[:control])
}

func (c *channel) keep(control []byte) error {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return err
		}
		c.fds = append(c.fds, fds...)
	}
	return nil
}

// descriptors hands over those that have come so far.
func (c *channel) descriptors() []int {
	fds := c.fds
	c.fds = nil
	return fds
}

// send sends a message, and descriptors along with it.
func (c *channel) send(k kind, m message, fds ...int) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	w := wire{buf: append(c.out[:0], make([]byte, frameHeader)...)}
	m.fields(&w)
	if w.err != nil {
		return w.err
	}
	c.out = w.buf
	binary.LittleEndian.PutUint32(c.out, uint32(len(c.out)-frameHeader))
	c.out[4] = byte(k)
	frame := c.out
	if cap(c.out) > channelBuffer {
		c.out = nil
	}
	for len(fds) > 0 { // a batch goes with one byte, and the last with all the rest
		n, part := len(fds), frame
		if n > maxSent {
			n, part = maxSent, frame[:1]
		}
		sent, err := unix.SendmsgN(c.fd, part, unix.UnixRights(fds[:n]...), nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		frame, fds = frame[sent:], fds[n:]
	}
	return c.writeAll(frame, nil)
}

// output sends bytes of a stream, and gives up when done says so.
func (c *channel) output(stream byte, p []byte, done func() error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	frame := append(c.out[:0], make([]byte, frameHeader)...)
	binary.LittleEndian.PutUint32(frame, uint32(1+len(p)))
	frame[4] = byte(kindOutput)
	frame = append(append(frame, stream), p...)
	c.out = frame
	return c.writeAll(frame, done)
}

// patience is how long a full socket is waited for between two looks at done.
const patience = 20 * time.Millisecond

// writeAll writes a frame. Once some of it is written the rest has to follow, so
// done is asked only before.
func (c *channel) writeAll(frame []byte, done func() error) error {
	for rest := frame; len(rest) > 0; {
		flags := unix.MSG_NOSIGNAL
		if done != nil {
			flags |= unix.MSG_DONTWAIT
		}
		n, err := sendOnce(c.fd, rest, flags)
		rest = rest[n:]
		switch {
		case err == unix.EAGAIN:
			if len(rest) == len(frame) {
				if err := done(); err != nil {
					return err
				}
			}
			c.waitWritable()
		case err != nil && err != unix.EINTR:
			return err
		}
	}
	return nil
}

func (c *channel) waitWritable() {
	wait := unix.NsecToTimespec(int64(patience))
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLOUT}}, &wait, nil)
}
