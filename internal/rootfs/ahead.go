package rootfs

import (
	"io"
	"sync"
)

// ahead reads in a goroutine of its own, so that unpacking and hashing take a
// processor each. Close ends it and waits for it, and closes nothing else.
type ahead struct {
	full, empty chan []byte
	stop        chan struct{}
	done        sync.WaitGroup
	err         error // before full is closed
	rest        []byte
	buf         []byte
}

const (
	aheadBuffers = 4
	aheadSize    = 128 << 10
)

func newAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan []byte, aheadBuffers), empty: make(chan []byte, aheadBuffers), stop: make(chan struct{})}
	a.done.Go(func() { a.fill(r) })
	return a
}

func (a *ahead) fill(r io.Reader) {
	defer close(a.full)
	for made := 0; ; {
		buf, ok := a.buffer(&made)
		if !ok {
			return
		}
		n, err := io.ReadAtLeast(r, buf, len(buf))
		if err == io.ErrUnexpectedEOF && n > 0 {
			// ReadAtLeast says so for any end; the reader's own comes with the next read.
			err = nil
		}
		if n > 0 {
			a.full <- buf[:n] // there is room for every buffer
		}
		if err != nil {
			a.err = err
			return
		}
	}
}

// buffer waits for an empty buffer once there are enough: small layers need few.
func (a *ahead) buffer(made *int) (buf []byte, ok bool) {
	if *made < aheadBuffers {
		select {
		case buf = <-a.empty:
		case <-a.stop:
			return nil, false
		default:
			*made++
			buf = make([]byte, aheadSize)
		}
		return buf, true
	}
	select {
	case buf = <-a.empty:
		return buf, true
	case <-a.stop:
		return nil, false
	}
}

func (a *ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.buf != nil {
			a.empty <- a.buf[:aheadSize]
			a.buf = nil
		}
		buf, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.buf, a.rest = buf, buf
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

func (a *ahead) close() {
	close(a.stop)
	a.done.Wait()
}
