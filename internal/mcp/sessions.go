package mcp

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
)

// Bounds of what is remembered of sessions; the records themselves are kept on
// disk whatever is forgotten here.
const (
	maxRemembered = 1000             // runs of one session
	maxHandles    = 4096             // sessions of clients whose transport has none
	handleIdle    = 24 * time.Hour   // how long such a session is kept unused
	maxSessions   = 1024             // sessions of transports that have them
	sessionIdle   = 30 * time.Minute // after which HTTP drops a session
)

// ran is one run as list_runs shows it.
type ran struct {
	ID          joulebox.ID           `json:"attestation_id"`
	Receipt     joulebox.ID           `json:"receipt_id"`
	Unit        joulebox.ID           `json:"-"`
	Tool        string                `json:"tool"`
	Tier        string                `json:"tier"`
	Outcome     string                `json:"outcome"`
	Breach      string                `json:"breach,omitzero"`
	ExitCode    *uint32               `json:"exit_code,omitzero"`
	Cause       string                `json:"cause,omitzero"`
	EstimatedUJ joulebox.Microjoules  `json:"estimated_uj"`
	MeasuredUJ  *joulebox.Microjoules `json:"measured_uj,omitzero"`
	Finished    string                `json:"finished_at"`
	Bundle      string                `json:"bundle"`
}

// session is one client's view: the runs that it made, and no others.
type session struct {
	handle string // what a client without a session of its transport's names it by
	tenant string // whose it is
	ctx    context.Context
	end    context.CancelFunc

	mu    sync.Mutex
	runs  []ran // oldest first
	total int
	used  time.Time
}

// newSession's end ends what it runs; one that is known by a handle ends with the
// server alone.
func newSession(base context.Context) *session {
	return &session{used: time.Now(), ctx: base, end: func() {}}
}

func (s *session) add(r ran) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) == maxRemembered {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
	s.runs = append(s.runs, r)
	s.total++
	s.used = time.Now()
}

// recent are the latest runs, newest first, and how many there were in all.
func (s *session) recent(n int) (runs []ran, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	runs = slices.Clone(s.runs[max(0, len(s.runs)-n):])
	slices.Reverse(runs)
	return runs, s.total
}

// find looks a run of this session up by an id of its, or the beginning of one.
func (s *session) find(text string) (found []ran) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		if begins(r.ID, text) || begins(r.Receipt, text) || begins(r.Unit, text) {
			found = append(found, r)
		}
	}
	return found
}

// begins reports that an id's text begins with what was typed, with b3: or not.
func begins(id joulebox.ID, text string) bool {
	full := id.String()
	return len(text) >= 4 && (hasPrefix(full, text) || hasPrefix(full[3:], text))
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// sessions holds those that live.
type sessions struct {
	mu      sync.Mutex
	live    map[*sdk.ServerSession]*session
	handles map[string]*session // by tenant and handle
}

func newSessions() *sessions {
	return &sessions{live: map[*sdk.ServerSession]*session{}, handles: map[string]*session{}}
}

// of is the session of a connection. It is forgotten when the connection ends, and
// what it runs then ends, too.
func (all *sessions) of(base context.Context, conn *sdk.ServerSession, tenant string) *session {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s := all.live[conn]; s != nil {
		return s
	}
	s := newSession(base)
	s.tenant = tenant
	s.ctx, s.end = context.WithCancel(base)
	all.live[conn] = s
	go func() {
		_ = conn.Wait()
		s.end()
		all.mu.Lock()
		defer all.mu.Unlock()
		delete(all.live, conn)
	}()
	return s
}

// endNamed ends what the session of this id runs, before the transport waits for it.
func (all *sessions) endNamed(id, tenant string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for conn, s := range all.live {
		if conn.ID() == id && s.tenant == tenant {
			s.end()
		}
	}
}

// held is the session behind a handle, if the tenant has one.
func (all *sessions) held(tenant, handle string) *session {
	all.mu.Lock()
	defer all.mu.Unlock()
	s := all.handles[tenant+" "+handle]
	if s != nil {
		s.mu.Lock()
		s.used = time.Now()
		s.mu.Unlock()
	}
	return s
}

// open begins a session that is known by its handle alone, which can't be guessed.
func (all *sessions) open(base context.Context, tenant string) *session {
	s := newSession(base)
	s.handle = rand.Text()
	all.mu.Lock()
	defer all.mu.Unlock()
	all.prune()
	all.handles[tenant+" "+s.handle] = s
	return s
}

// prune drops what was unused for long, and the longest unused if there are still
// too many.
func (all *sessions) prune() {
	if len(all.handles) < maxHandles/2 {
		return
	}
	oldest, when := "", time.Now()
	for k, s := range all.handles {
		s.mu.Lock()
		used := s.used
		s.mu.Unlock()
		switch {
		case time.Since(used) > handleIdle:
			delete(all.handles, k)
		case used.Before(when):
			oldest, when = k, used
		}
	}
	if len(all.handles) >= maxHandles {
		delete(all.handles, oldest)
	}
}
