package host

import "time"

// start begins to read, on the first call that wants to know.
func (in *input) start() {
	if !in.started && !in.closed {
		in.started = true
		go in.pump()
	}
}

func (in *input) pump() {
	defer close(in.ended)
	buf := make([]byte, pumpSize)
	for {
		n, err := in.r.Read(buf)
		if !in.offer(buf[:n], err) {
			in.setDeadline(time.Time{}) // hand the reader back as it was
			return
		}
		if err != nil {
			return
		}
		if n > 0 {
			<-in.taken
		}
		if in.isClosed() {
			return
		}
	}
}

func (in *input) isClosed() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.closed
}

// setDeadline wakes a read that is stuck, or lets reads block again. It reports
// false for a reader that can't be woken.
func (in *input) setDeadline(t time.Time) bool {
	d, ok := in.r.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(t) == nil
}

// offer hands over what was read; false when nobody wants it any more.
func (in *input) offer(data []byte, err error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	in.data, in.err = data, err
	if len(data) > 0 || err != nil {
		close(in.changed)
		in.changed = make(chan struct{})
	}
	return true
}

// close ends the pump. A read that is stuck is woken if the reader can be, and
// waited for, so that what comes later is left for others; else it ends with the
// next byte, and that byte is lost.
func (in *input) close() {
	if in.stop() && in.setDeadline(time.Unix(1, 0)) {
		select {
		case <-in.ended:
		case <-time.After(time.Second):
		}
	}
}

// stop marks the end; true when a read is under way.
func (in *input) stop() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	in.closed = true
	close(in.taken)
	return in.started && in.err == nil && len(in.data) == 0
}
