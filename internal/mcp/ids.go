package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// ids are the calls of a connection that are under way. The SDK reads an id
// through a float, which loses digits past 2^53, and mistakes a call for another
// under way by the same id; such ones go by names of ours while they are inside.
type ids struct {
	mu     *sync.Mutex
	next   uint64
	flight map[jsonrpc.ID]*flight
	empty  chan struct{} // closed when nothing is under way; nil while nobody waits
}

type flight struct {
	wire      jsontext.Value // as it was written
	cancelled bool
}

func newIDs() ids { return ids{mu: new(sync.Mutex), flight: map[jsonrpc.ID]*flight{}} }

// ourName begins the names that stand for ids; a client's own that begins so goes
// by a name, too.
const ourName = "joulebox:"

// enter is the id that a call goes by inside; false when there are too many.
func (s *ids) enter(wire jsontext.Value) (jsonrpc.ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.flight) >= maxInFlight {
		return jsonrpc.ID{}, false
	}
	id, plain := plainID(wire)
	if _, busy := s.flight[id]; !plain || busy {
		s.next++
		id, _ = jsonrpc.MakeID(fmt.Sprint(ourName, s.next))
	}
	s.flight[id] = &flight{wire: wire}
	return id, true
}

// plainID is an id that the SDK takes unharmed.
func plainID(wire jsontext.Value) (id jsonrpc.ID, ok bool) {
	var v any
	if wire.Kind() == '"' {
		var text string
		if json.Unmarshal(wire, &text) != nil || strings.HasPrefix(text, ourName) {
			return id, false
		}
		v = text
	} else {
		n, err := strconv.ParseInt(string(wire), 10, 64)
		if err != nil || n < -1<<53 || n > 1<<53 || strconv.FormatInt(n, 10) != string(wire) {
			return id, false
		}
		v = float64(n)
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil
}

// leave ends a call: its id as it was written, and whether an answer is wanted.
func (s *ids) leave(id jsonrpc.ID) (jsontext.Value, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flight[id]
	if f == nil {
		return nil, false
	}
	delete(s.flight, id)
	s.wake()
	return f.wire, !f.cancelled
}

// cancel marks the calls that go by an id, and names them.
func (s *ids) cancel(wire jsontext.Value) (list []jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, f := range s.flight {
		if sameID(f.wire, wire) {
			f.cancelled = true
			list = append(list, id)
		}
	}
	return list
}

// sameID compares what two ids say, however their strings are escaped.
func sameID(a, b jsontext.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	var x, y string
	if a.Kind() == '"' {
		return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
	}
	return string(a) == string(b)
}

// idle closes when no call is under way.
func (s *ids) idle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	s.wake()
	return s.empty
}

func (s *ids) wake() {
	if s.empty != nil && len(s.flight) == 0 {
		select {
		case <-s.empty:
		default:
			close(s.empty)
		}
	}
}
