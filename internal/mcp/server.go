package mcp

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"iter"
	"log/slog"
	"runtime"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/lang"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

// rawJSON is JSON as the SDK takes it over unchanged.
type rawJSON = stdjson.RawMessage

// Records finds what was kept by its ids.
type Records interface {
	Find(ctx context.Context, key joulebox.ID) iter.Seq2[store.Record, error]
}

// Config is what a server is made of.
type Config struct {
	Supervisor *supervisor.Supervisor
	Records    Records
	Policy     Policy
	// Trusted are the keys that verify_eat and verify_bundle go by where a call
	// names none; the supervisor's own is always among them.
	Trusted []bundle.Key
	// Languages are what run_code runs source code with; nil is none.
	Languages *lang.Store
	// Native says that the supervisor has an executor for native units, so that the
	// host's own interpreters can be used for what Languages doesn't have.
	Native bool
	// MultiTenant and Ceilings are the supervisor's, for explain_grants.
	MultiTenant bool
	Ceilings    grant.Ceilings
	// Hidden are host paths that no grant reaches.
	Hidden []string
	// Log gets one line a call; nil logs nothing.
	Log     *slog.Logger
	Version string
}

// Server answers MCP clients, over any number of connections.
type Server struct {
	config   Config
	slots    chan struct{}
	sessions *sessions
	calls    *calls
	// base ends when the server does, and with it every unit.
	base context.Context
	stop context.CancelFunc
	// stateless says that this view of the server serves requests that belong to
	// no session of the transport.
	stateless bool
}

// New makes a server. Close ends what it runs.
func New(c Config) (*Server, error) {
	switch {
	case c.Supervisor == nil:
		return nil, errors.New("mcp: no supervisor: nothing could run")
	case c.Records == nil:
		return nil, errors.New("mcp: no records: nothing could be shown again")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Policy.Output == 0 {
		c.Policy = DefaultPolicy()
	}
	runs := c.Policy.Runs
	if runs == 0 {
		runs = max(4, 2*runtime.GOMAXPROCS(0))
	}
	c.Trusted = append([]bundle.Key{{Name: "this host", Public: c.Supervisor.Public()}}, c.Trusted...)
	s := &Server{config: c, slots: make(chan struct{}, runs), sessions: newSessions(), calls: newCalls()}
	s.base, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close ends every unit that still runs; each is recorded as cancelled.
func (s *Server) Close() { s.stop() }

// instructions are what a client shows its model of this server.
const instructions = `Runs untrusted code in a sandbox and returns its output with a signed, energy-metered record that anyone can verify. ` +
	`Every argument that is a grant is off until it is set. A unit that fails or is stopped is a normal result; an isError result says how to mend the call.`

// protocols are the revisions that this server speaks, newest first. The last is
// there for clients that name it; batches, which only it had, are refused.
var protocols = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

// sdk is the SDK's server with our tools in it.
func (s *Server) sdk() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "joulebox", Title: "joulebox", Version: s.config.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(atLeast{slog.LevelWarn, s.config.Log.Handler()}),
		// There are no prompts; clients ask for the list all the same, and get one.
		Capabilities:              &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
		SetCacheable:              cacheable,
		SupportedProtocolVersions: protocols,
	})
	s.addTools(server)
	s.addResources(server)
	server.AddReceivingMiddleware(s.guard)
	return server
}

// cacheable says how long an answer holds: the tools are the same for as long as
// the server lives, and everything is its session's alone.
func cacheable(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
	c.CacheScope = "private"
	switch req.(type) {
	case *sdk.ListToolsRequest, *sdk.ServerRequest[*sdk.DiscoverParams]:
		c.TTLMs = 300_000
	}
}

// atLeast drops log lines below a level.
type atLeast struct {
	level slog.Level
	slog.Handler
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}
