package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/mcp"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

func TestMain(m *testing.M) {
	host.RunCompilerIfAsked()
	code := m.Run()
	if e, err := engine(); err == nil {
		_ = e.Close() // its cache is a folder of its own
	}
	os.Exit(code)
}

// engine compiles for all tests of the package.
var engine = sync.OnceValues(func() (*host.Engine, error) { return host.NewEngine(host.EngineConfig{}) })

// house is a server over a key and a store of its own.
type house struct {
	*mcp.Server
	store *store.Dir
	log   *logged
}

// logged is what the server logs.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newHouse(t testing.TB, change func(*mcp.Config)) *house {
	t.Helper()
	dir := t.TempDir()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	k, _, err := custody.Ensure("file:"+filepath.Join(dir, "key"), false)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close(); _ = k.Close() })
	c := mcp.Config{Records: disk, Version: "test", Hidden: []string{dir}}
	h := &house{store: disk, log: &logged{}}
	c.Log = slog.New(slog.NewTextHandler(h.log, nil))
	if change != nil {
		change(&c)
	}
	table := meter.DefaultTable()
	if c.Supervisor, err = supervisor.New(supervisor.Config{
		Signer: k, Sequence: k.Next, Objects: disk, Log: disk, Executors: []host.Executor{host.S2(e), host.S3()},
		Meters: supervisor.HostMeters(table).Find, Table: table, MultiTenant: c.MultiTenant, Ceilings: c.Ceilings,
	}); err != nil {
		t.Fatal(err)
	}
	if h.Server, err = mcp.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func policy(t testing.TB, text string) func(*mcp.Config) {
	t.Helper()
	p, err := mcp.ParsePolicy([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *mcp.Config) { c.Policy = p }
}

// pipes is a stdio server with a client's ends of its streams.
type pipes struct {
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func (h *house) stdio(t testing.TB) *pipes {
	t.Helper()
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	p := &pipes{in: inW, out: bufio.NewReaderSize(outR, 1<<20), done: make(chan error, 1)}
	go func() {
		p.done <- h.ServeStdio(context.Background(), inR, outW)
		_ = outW.Close()
	}()
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close(); _ = inR.Close() })
	return p
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func (p *pipes) send(t testing.TB, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// reply is one message from the server.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params json.RawMessage `json:"params"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	text string
}

// next is the next message; every line must be one.
func (p *pipes) next(t testing.TB) reply {
	t.Helper()
	type got struct {
		line []byte
		err  error
	}
	c := make(chan got, 1)
	go func() {
		line, err := p.out.ReadBytes('\n')
		c <- got{line, err}
	}()
	select {
	case g := <-c:
		if g.err != nil {
			t.Fatalf("no answer: %v", g.err)
		}
		var r reply
		if err := json.Unmarshal(g.line, &r); err != nil {
			t.Fatalf("not a message: %q", g.line)
		}
		r.text = string(bytes.TrimSpace(g.line))
		return r
	case <-time.After(10 * time.Second):
		t.Fatal("no answer within 10 s")
	}
	panic("unreachable")
}

const hello1 = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (p *pipes) initialize(t testing.TB) {
	t.Helper()
	p.send(t, hello1)
	if r := p.next(t); r.Error != nil {
		t.Fatal(r.text)
	}
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const token = "0123456789abcdefghijklmn"

// http serves over HTTP on this machine and returns the address.
func (h *house) http(t testing.TB, c mcp.HTTPConfig) string {
	t.Helper()
	if c.Tokens == nil {
		c.Tokens = []string{token}
	}
	handler, err := h.Handler(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.ServeHTTP(ctx, l, handler) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return "http://" + l.Addr().String() + mcp.Path
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// client is the SDK's, connected over one of the transports.
func (h *house) client(t testing.TB, over string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	var tr sdk.Transport
	switch over {
	case "stdio":
		p := h.stdio(t)
		tr = &sdk.IOTransport{Reader: io.NopCloser(p.out), Writer: p.in}
	default:
		tr = &sdk.StreamableClientTransport{Endpoint: h.http(t, mcp.HTTPConfig{}), HTTPClient: &http.Client{Transport: bearer(token)}}
	}
	if options == nil {
		options = &sdk.ClientOptions{}
	}
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var transports = []string{"stdio", "http"}

// example is a module of the examples, in base64.
func example(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../examples/" + name + "/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ceilings() grant.Ceilings {
	n := uint64(1000)
	return grant.Ceilings{MaxIOPS: &n, MaxReadBPS: &n}
}
