package mcp

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"
)

// HTTPConfig is what a server needs to be reached over HTTP.
type HTTPConfig struct {
	Tokens  []string // bearer tokens; each is a tenant of its own
	Hosts   []string // names that it may be addressed by, beside those of this machine
	Origins []string // origins that may call it from a browser, beside this machine's
}

// Path is where the server answers.
const Path = "/mcp"

// Bounds of HTTP.
const (
	maxConnections = 1024
	readTime       = 30 * time.Second // for a whole request
	writeTime      = 30 * time.Second // for each message to a client
	shutdownTime   = 800 * time.Millisecond
)

// Handler serves the protocol's revisions side by side: requests of 2026-07-28
// belong to no session, older ones to the session that initialize began.
func (s *Server) Handler(c HTTPConfig) (http.Handler, error) {
	if len(c.Tokens) == 0 {
		return nil, errors.New("mcp: no bearer token: anyone could run units")
	}
	stateless := s.view()
	with, without := s.sdk(), stateless.sdk()
	quiet := slog.New(atLeast{slog.LevelError, s.config.Log.Handler()})
	f := &front{server: s,
		stateful: sdk.NewStreamableHTTPHandler(s.room(with), &sdk.StreamableHTTPOptions{
			Logger: quiet, SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxMessage, DisableLocalhostProtection: true,
		}),
		stateless: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return without }, &sdk.StreamableHTTPOptions{
			Logger: quiet, Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxMessage, DisableLocalhostProtection: true,
		}),
	}
	mux := http.NewServeMux()
	mux.Handle(Path, f)
	return newGate(c).wrap(newTokens(c.Tokens).require(mux)), nil
}

// view is this server as requests without a session see it. It shares everything
// else, what runs at once above all.
func (s *Server) view() *Server {
	v := *s
	v.stateless = true
	return &v
}

// room has no server for a session too many.
func (s *Server) room(server *sdk.Server) func(*http.Request) *sdk.Server {
	return func(r *http.Request) *sdk.Server {
		if r.Header.Get(sessionHeader) == "" {
			n := 0
			for range server.Sessions() {
				n++
			}
			if n >= maxSessions {
				return nil
			}
		}
		return server
	}
}

// ServeHTTP serves on l until ctx ends; then units are cancelled and connections
// are given a moment.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		s.stop()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
	}()
	err := server.Serve(netutil.LimitListener(l, maxConnections))
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	return err
}

// The headers of the transport.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	statelessFrom = "2026-07-28"
	metaVersion   = "io.modelcontextprotocol/protocolVersion"
)

// front reads each message before the SDK does, answers what is none, and hands
// the rest to the side that its revision belongs to.
type front struct {
	server              *Server
	stateful, stateless http.Handler
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &answers{w: w, control: http.NewResponseController(w)}
	switch {
	case r.Method == http.MethodPost:
		f.post(out, r)
	case r.Header.Get(versionHeader) >= statelessFrom:
		f.stateless.ServeHTTP(out, r)
	case r.Method == http.MethodDelete:
		// Closing a session waits for its calls, so what they run ends first.
		f.server.sessions.endNamed(r.Header.Get(sessionHeader), tenantIn(r))
		f.stateful.ServeHTTP(out, r)
	default:
		f.stateful.ServeHTTP(out, r)
	}
}

func (f *front) post(w *answers, r *http.Request) {
	body, status, text := readBody(w, r)
	if status != 0 {
		w.refuse(status, nil, invalidRequest("%s", text))
		return
	}
	m, refused := parseMessage(body)
	if refused != nil {
		w.refuse(http.StatusBadRequest, nil, refused)
		return
	}
	body = w.rename(m, body)
	replaceBody(r, body)
	defer f.track(r, m)()
	if f.isStateless(r, m) {
		f.stateless.ServeHTTP(w, r)
		return
	}
	f.stateful.ServeHTTP(w, r)
}

// track knows the calls of sessions, and passes on what cancels them.
func (f *front) track(r *http.Request, m message) (done func()) {
	r.Header.Del(callHeader)
	done = func() {}
	switch {
	case r.Header.Get(sessionHeader) == "":
	case m.method == "notifications/cancelled":
		var p struct {
			ID jsontext.Value `json:"requestId"`
		}
		if json.Unmarshal(m.params, &p) == nil && validID(p.ID) {
			f.server.calls.cancel(callName(r, p.ID))
		}
	case m.id != nil && m.method == "tools/call":
		name := callName(r, m.id)
		done = f.server.calls.begin(name)
		r.Header.Set(callHeader, name)
	}
	return done
}

// isStateless goes by the header or by what the request says of itself; where the
// two differ it is the stateless side that says so.
func (f *front) isStateless(r *http.Request, m message) bool {
	if r.Header.Get(versionHeader) >= statelessFrom {
		return true
	}
	var p struct {
		Meta map[string]jsontext.Value `json:"_meta"`
	}
	return json.Unmarshal(m.params, &p) == nil && p.Meta[metaVersion] != nil
}
