package netstack

import (
	"fmt"
	"sync"
)

const (
	// smallBuffer is what a connection holds each way at least: a packet of the
	// largest size.
	smallBuffer = 64 << 10
	// largeBuffer is what it takes to keep both ends busy.
	largeBuffer = 1 << 20
	// more is what a connection with large buffers holds more than one with small
	// ones, each way in the stack and on the way through.
	more = 2 * (largeBuffer - smallBuffer + manyBytes)
)

// budget divides the memory for data in transit: small buffers are set aside for
// every connection there may be, and what is left goes to those that come first.
type budget struct {
	mu    *sync.Mutex
	spare int
}

func newBudget(l Limits) (budget, error) {
	need := l.Connections * 2 * (smallBuffer + fewBytes)
	if l.Memory < need {
		return budget{}, fmt.Errorf("limits: got memory of %d bytes for %d connections, want at least %d", l.Memory, l.Connections, need)
	}
	return budget{&sync.Mutex{}, l.Memory - need}, nil
}

// take gives the size of a connection's buffers.
func (b *budget) take() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spare < more {
		return smallBuffer
	}
	b.spare -= more
	return largeBuffer
}

func (b *budget) give(size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if size == largeBuffer {
		b.spare += more
	}
}
