package wasi

import (
	"encoding/binary"
	"math"
	"time"
)

const (
	maxSubscriptions = 4096
	eventSize        = 32

	eventClock   = 0
	eventFdRead  = 1
	eventFdWrite = 2

	clockAbsolute = 1
)

// subscription is one thing that a guest waits for.
type subscription struct {
	userdata uint64
	kind     byte
	fd       uint32
	wait     time.Duration // a clock's, from now on; negative for never
	errno    Errno
	ready    bool
	bytes    uint64
}

// pollOneoff waits for the first of a list. The list is copied before anything
// else: the events may be written over it.
func pollOneoff(k *call, a []uint64) Errno {
	count := uint32(a[2])
	if count == 0 || count > maxSubscriptions {
		return EInval
	}
	in, ok := k.array(uint32(a[0]), count, k.v.sub.size)
	out, ok2 := k.array(uint32(a[1]), count, eventSize)
	if !ok || !ok2 || !k.fits(uint32(a[3]), 4) {
		return EFault
	}
	k.chargeBytes(uint64(count) * uint64(k.v.sub.size+eventSize))
	subs := make([]subscription, count)
	for i := range subs {
		if errno := k.parseSubscription(&subs[i], in[uint32(i)*k.v.sub.size:]); errno != Success {
			return errno
		}
	}
	k.await(subs)
	if k.ctx.Err() != nil {
		return ECanceled // the engine ends the run as soon as this returns
	}
	n := putEvents(out, subs)
	k.wrote(uint32(a[1]), n*eventSize)
	return k.putU32(uint32(a[3]), n)
}

func (k *call) parseSubscription(s *subscription, b []byte) Errno {
	le := binary.LittleEndian
	s.userdata, s.kind = le.Uint64(b), b[8]
	switch s.kind {
	case eventClock:
		l := &k.v.sub
		s.wait, s.errno = k.clockWait(ClockID(le.Uint32(b[l.clock:])), le.Uint64(b[l.timeout:]), le.Uint16(b[l.flags:]))
	case eventFdRead, eventFdWrite:
		s.fd = le.Uint32(b[16:])
		k.pollFd(s)
	default:
		return EInval
	}
	return Success
}

// clockWait is how long a clock subscription lasts from now on.
func (k *call) clockWait(id ClockID, timeout uint64, flags uint16) (time.Duration, Errno) {
	if flags > clockAbsolute {
		return 0, EInval
	}
	if id != ClockRealtime && id != ClockMonotonic {
		return 0, EInval
	}
	if flags == clockAbsolute {
		now, err := k.now(id)
		if err != nil {
			return 0, errnoOf(err)
		}
		timeout -= min(timeout, now)
	}
	return time.Duration(min(timeout, math.MaxInt64)), Success
}

// pollFd looks at a descriptor. A file never blocks and output is taken at once
// or waited for in the write; only stdin can have nothing yet.
func (k *call) pollFd(s *subscription) {
	e := k.c.fds.get(s.fd)
	want := RightFdRead
	if s.kind == eventFdWrite {
		want = RightFdWrite
	}
	switch {
	case e == nil || e.dir != nil:
		s.errno = EBadf
	case e.base&want == 0:
		s.errno = EBadf
	case e.stdin && !k.c.sys.Virtual():
		n, wait := e.stream.Ready()
		s.ready, s.bytes = wait == nil, uint64(n)
	case e.file != nil && s.kind == eventFdRead:
		s.ready, s.bytes = true, k.unread(e)
	default:
		s.ready, s.bytes = true, 1
	}
}

// unread is how much of a file lies ahead.
func (k *call) unread(e *entry) uint64 {
	k.chargeStorage()
	s, err := e.file.Stat(k.ctx)
	at, err2 := e.file.Seek(0, 1)
	if err != nil || err2 != nil || uint64(at) > s.Size {
		return 0
	}
	return s.Size - uint64(at)
}

// await waits until a subscription has something to say and marks which.
func (k *call) await(subs []subscription) {
	soonest := time.Duration(-1)
	var stdin <-chan struct{}
	for i := range subs {
		s := &subs[i]
		switch {
		case s.ready || s.errno != Success:
			soonest = 0
		case s.kind == eventClock:
			if soonest < 0 || s.wait < soonest {
				soonest = s.wait
			}
		default:
			_, stdin = k.c.fds.get(s.fd).stream.Ready()
		}
	}
	if soonest != 0 {
		if k.c.sys.Wait(k.ctx, soonest, stdin) {
			soonest = -1 // stdin came first
		}
	}
	for i := range subs {
		s := &subs[i]
		if s.kind == eventClock {
			s.ready = soonest >= 0 && s.wait <= soonest
		} else if !s.ready && s.errno == Success {
			n, wait := k.c.fds.get(s.fd).stream.Ready()
			s.ready, s.bytes = wait == nil, uint64(n)
		}
	}
}

// putEvents writes an event for each subscription that has one.
func putEvents(out []byte, subs []subscription) (n uint32) {
	for _, s := range subs {
		if !s.ready && s.errno == Success {
			continue
		}
		b := out[n*eventSize:][:eventSize]
		clear(b)
		le := binary.LittleEndian
		le.PutUint64(b, s.userdata)
		le.PutUint16(b[8:], uint16(s.errno))
		b[10] = s.kind
		if s.kind != eventClock && s.errno == Success {
			le.PutUint64(b[16:], s.bytes)
		}
		n++
	}
	return n
}
