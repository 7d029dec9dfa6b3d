package mcp

import (
	"context"
	"encoding/json/jsontext"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls are those of HTTP sessions that are under way, and cancellations that came
// before their calls did: each comes over a connection of its own, so a
// cancellation can overtake what it cancels, and the SDK would drop it.
type calls struct {
	mu    sync.Mutex
	open  map[string]chan struct{}
	early map[string]time.Time
}

const (
	earlyFor = 30 * time.Second // how long an early cancellation waits for its call
	maxEarly = 4096
)

func newCalls() *calls {
	return &calls{open: map[string]chan struct{}{}, early: map[string]time.Time{}}
}

// callHeader carries a call's name from the front to its handler, which is told no
// id by the SDK. A client's own header of that name is dropped.
const callHeader = "Joulebox-Call"

// callName names a call by its session and its id.
func callName(r *http.Request, id jsontext.Value) string {
	canonical := id.Clone()
	_ = canonical.Canonicalize() // strings have more than one spelling
	if id.Kind() == '0' {
		canonical = id // which would lose digits
	}
	return r.Header.Get(sessionHeader) + " " + string(canonical)
}

// begin registers a call; done forgets it.
func (c *calls) begin(name string) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := make(chan struct{})
	if at, was := c.early[name]; was && time.Since(at) < earlyFor {
		close(ended)
	}
	delete(c.early, name)
	c.open[name] = ended
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[name] == ended {
			delete(c.open, name)
		}
	}
}

// cancel ends a call, or will when it comes.
func (c *calls) cancel(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := c.open[name]
	if ended == nil {
		c.forget()
		c.early[name] = time.Now()
		return
	}
	select {
	case <-ended:
	default:
		close(ended)
	}
}

// forget makes room: what has waited too long, or all of it where too much waits.
func (c *calls) forget() {
	if len(c.early) < maxEarly {
		return
	}
	for name, at := range c.early {
		if time.Since(at) > earlyFor {
			delete(c.early, name)
		}
	}
	if len(c.early) >= maxEarly {
		clear(c.early)
	}
}

// ended is closed when the call is cancelled; nil for a call that isn't registered.
func (c *calls) ended(extra *sdk.RequestExtra) <-chan struct{} {
	if extra == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[extra.Header.Get(callHeader)]
}

// until ends ctx with the server and with a cancellation that the SDK doesn't tell
// of, as well.
func (s *Server) until(ctx context.Context, extra *sdk.RequestExtra) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.base, cancel)
	if ended := s.calls.ended(extra); ended != nil {
		go func() {
			select {
			case <-ended:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() {
		stop()
		cancel()
	}
}
