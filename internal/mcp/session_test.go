package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox/internal/mcp"
)

// A run is seen by the session that made it, and by nobody else, by no way.
func TestRunsBelongToTheirSession(t *testing.T) {
	h := newHouse(t, nil)
	for _, over := range transports {
		t.Run(over, func(t *testing.T) {
			mine, other := h.client(t, over, nil), h.client(t, over, nil)
			a := call(t, mine, "run_wasm", wasm(example(t, "hello"), nil))
			id := a.S["attestation_id"].(string)
			handle := map[string]any{}
			if s, ok := a.S["session"]; ok {
				handle["session"] = s
			}
			with := func(more map[string]any) map[string]any {
				m := map[string]any{}
				for k, v := range handle {
					m[k] = v
				}
				for k, v := range more {
					m[k] = v
				}
				return m
			}
			if l := call(t, mine, "list_runs", with(nil)); l.S["total"] != 1.0 {
				t.Errorf("mine: %v", l.S)
			}
			if g := call(t, mine, "get_run", with(map[string]any{"run": id[:12]})); g.S["attestation_id"] != id || g.link() != a.link() {
				t.Errorf("mine: %v", g.S)
			}
			g := call(t, mine, "get_run", with(map[string]any{"run": id, "include_bundle": true}))
			if _, ok := g.Content[1].(*sdk.EmbeddedResource); !ok {
				t.Errorf("no bundle in %T", g.Content[1])
			}
			if l := call(t, other, "list_runs", nil); l.S["total"] != 0.0 {
				t.Errorf("another's: %v", l.S)
			}
			mustRefuse(t, call(t, other, "get_run", map[string]any{"run": id}), "this session has none")
			uri, _, _ := strings.Cut(a.link(), "?")
			if _, err := other.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
				t.Error("another read the bundle")
			}
			if _, err := mine.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: a.link()}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Where requests have no session of the transport's, a handle stands for one: it
// can't be guessed, and another token's client can't use it.
func TestAHandleStandsForASession(t *testing.T) {
	h := newHouse(t, nil)
	const second = "another-token-0123456789"
	url := h.http(t, mcp.HTTPConfig{Tokens: []string{token, second}})
	connect := func(token string) *sdk.ClientSession {
		s, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	mine, other := connect(token), connect(second)
	first := call(t, mine, "run_wasm", wasm(example(t, "hello"), nil))
	handle, ok := first.S["session"].(string)
	if !ok || len(handle) < 20 {
		t.Fatalf("handle %q", handle)
	}
	call(t, mine, "run_wasm", wasm(example(t, "hello"), map[string]any{"session": handle}))
	if l := call(t, mine, "list_runs", map[string]any{"session": handle}); l.S["total"] != 2.0 {
		t.Errorf("got %v", l.S)
	}
	mustRefuse(t, call(t, other, "list_runs", map[string]any{"session": handle}), "session")
	mustRefuse(t, call(t, mine, "list_runs", map[string]any{"session": handle[1:]}), "session")
	if _, err := other.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: first.link()}); err == nil {
		t.Error("another token's client read the bundle")
	}
}

func TestListedResources(t *testing.T) {
	s := newHouse(t, nil).client(t, "stdio", nil)
	call(t, s, "run_wasm", wasm(example(t, "hello"), nil))
	a := call(t, s, "run_wasm", wasm(example(t, "hello"), nil))
	l, err := s.ListResources(t.Context(), nil)
	if err != nil || len(l.Resources) != 2 || l.Resources[0].URI != a.link() || l.NextCursor != "" {
		t.Errorf("got %v, %v", l, err)
	}
}

func TestLongRunsTellOfTheirProgress(t *testing.T) {
	for _, over := range transports {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var seen []float64
			s := newHouse(t, nil).client(t, over, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				if r.Params.ProgressToken != "tok" {
					t.Errorf("token %v", r.Params.ProgressToken)
				}
				seen = append(seen, r.Params.Progress)
			}})
			p := &sdk.CallToolParams{Name: "run_wasm", Arguments: wasm(example(t, "spin"), map[string]any{"cpu_time_ms": 2300})}
			p.SetProgressToken("tok")
			r, err := s.CallTool(t.Context(), p)
			if err != nil || r.IsError {
				t.Fatal(r, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(seen) < 1 || len(seen) > 1 && seen[1] <= seen[0] {
				t.Errorf("progress %v", seen)
			}
		})
	}
}

// A cancelled call ends its unit at once, and the run is on record.
func TestCancellationEndsTheUnitAndIsRecorded(t *testing.T) {
	for _, over := range transports {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil)
			s := h.client(t, over, nil)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			start := time.Now()
			_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "run_wasm", Arguments: wasm(example(t, "spin"), nil)})
			if err == nil || time.Since(start) > 5*time.Second {
				t.Fatalf("%v after %v", err, time.Since(start))
			}
			h.waitFor(t, 1, "cancelled")
		})
	}
}

// waitFor waits for n records that say a word.
func (h *house) waitFor(t *testing.T, n int, word string) {
	t.Helper()
	for range 100 {
		found := 0
		for r, err := range h.store.Records(context.Background(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(r.Data), word) {
				found++
			}
		}
		if found == n {
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
	t.Fatalf("%d records with %q never came", n, word)
}

func TestACancelledCallIsNotAnswered(t *testing.T) {
	h := newHouse(t, nil)
	p := h.stdio(t)
	p.initialize(t)
	spin := base64.StdEncoding.EncodeToString(example(t, "spin"))
	for _, id := range []string{`"a\u0062"`, `9007199254740995`, `3`} {
		p.send(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"run_wasm","arguments":{"wasm_base64":"`+spin+`"}}}`)
	}
	time.Sleep(200 * time.Millisecond)
	for _, id := range []string{`"ab"`, `9007199254740995`, `3`} {
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
	}
	h.waitFor(t, 3, "cancelled")
	p.send(t, pingLast)
	if r := p.next(t); string(r.ID) != `"last"` {
		t.Errorf("a cancelled call was answered: %s", short(r.text))
	}
}

// A cancellation over HTTP comes on a connection of its own, so it can come first.
func TestACancellationThatOvertakesItsCall(t *testing.T) {
	h := newHouse(t, nil)
	url := h.http(t, mcp.HTTPConfig{})
	header := map[string]string{}
	if status, r := post(t, url, hello1, header); status != 200 {
		t.Fatal(r.text)
	}
	post(t, url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header)
	spin := base64.StdEncoding.EncodeToString(example(t, "spin"))
	for _, id := range []string{`7`, `"x"`, `9007199254740993`} {
		if status, r := post(t, url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, header); status != 202 {
			t.Fatal(status, r.text)
		}
		start := time.Now()
		_, r := post(t, url, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"run_wasm","arguments":{"wasm_base64":"`+spin+`"}}}`, header)
		if time.Since(start) > 5*time.Second || string(r.ID) != id {
			t.Errorf("id %s: %s after %v", id, short(r.text), time.Since(start))
		}
	}
}

func TestDeletingASessionEndsWhatItRuns(t *testing.T) {
	h := newHouse(t, nil)
	url := h.http(t, mcp.HTTPConfig{})
	header := map[string]string{}
	post(t, url, hello1, header)
	spin := base64.StdEncoding.EncodeToString(example(t, "spin"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_wasm","arguments":{"wasm_base64":"`+spin+`"}}}`, map[string]string{"Mcp-Session-Id": header["Mcp-Session-Id"]})
	}()
	time.Sleep(300 * time.Millisecond)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Mcp-Session-Id", header["Mcp-Session-Id"])
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	<-done
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	h.waitFor(t, 1, "cancelled")
}

// A request of the stateless revision ends with its connection.
func TestHangingUpEndsAStatelessCall(t *testing.T) {
	h := newHouse(t, nil)
	url := h.http(t, mcp.HTTPConfig{})
	spin := base64.StdEncoding.EncodeToString(example(t, "spin"))
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_wasm","arguments":{"wasm_base64":"` + spin + `"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_wasm"} {
		req.Header.Set(k, v)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	h.waitFor(t, 1, "cancelled")
}

func TestInputThatEnds(t *testing.T) {
	spin := base64.StdEncoding.EncodeToString(example(t, "spin"))
	hello := base64.StdEncoding.EncodeToString(example(t, "hello"))
	t.Run("under way", func(t *testing.T) {
		h := newHouse(t, nil)
		p := h.stdio(t)
		p.initialize(t)
		p.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_wasm","arguments":{"wasm_base64":"`+spin+`"}}}`)
		time.Sleep(200 * time.Millisecond)
		_ = p.in.Close()
		if err := p.ended(t, time.Second); err != nil {
			t.Error(err)
		}
		h.waitFor(t, 1, "cancelled")
	})
	t.Run("nearly answered", func(t *testing.T) {
		p := newHouse(t, nil).stdio(t)
		p.initialize(t)
		p.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_wasm","arguments":{"wasm_base64":"`+hello+`"}}}`)
		_ = p.in.Close()
		if r := p.next(t); !strings.Contains(string(r.Result), "hello from inside") {
			t.Errorf("got %s", short(r.text))
		}
		if err := p.ended(t, time.Second); err != nil {
			t.Error(err)
		}
	})
	t.Run("at once", func(t *testing.T) {
		p := newHouse(t, nil).stdio(t)
		_ = p.in.Close()
		if err := p.ended(t, time.Second); err != nil {
			t.Error(err)
		}
	})
}

func TestTheTraceIsLogged(t *testing.T) {
	h := newHouse(t, nil)
	s := h.client(t, "stdio", nil)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for _, text := range []string{"00-" + trace + "-b7ad6b7169203331-01", "00-" + trace + "-b7ad6b7169203331-01\nforged=1", "zz-x"} {
		p := &sdk.CallToolParams{Name: "run_wasm", Arguments: wasm(example(t, "hello"), nil)}
		p.SetMeta(map[string]any{"traceparent": text})
		if _, err := s.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	log := h.log.String()
	if strings.Count(log, "trace_id="+trace+" span_id=b7ad6b7169203331") != 1 || strings.Contains(log, "forged") {
		t.Errorf("the log: %s", log)
	}
}

// What goes wrong inside stays inside: a store that fails gives strangers a number
// and nothing else.
func TestOwnTroubleSaysNothingToStrangers(t *testing.T) {
	h := newHouse(t, nil)
	s := h.client(t, "stdio", nil)
	_ = h.store.Close()
	_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_wasm", Arguments: wasm(example(t, "hello"), nil)})
	if err == nil || !strings.Contains(err.Error(), "incident") || strings.Contains(err.Error(), os.TempDir()) || strings.Contains(err.Error(), "store") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(h.log.String(), "incident=") {
		t.Errorf("the log: %s", h.log.String())
	}
}

// 200 calls at once, half of them cancelled, over and over: what the process holds
// comes back to where it was.
func TestManyCallsAtOnceLeaveNothing(t *testing.T) {
	for _, over := range transports {
		t.Run(over, func(t *testing.T) {
			h := newHouse(t, nil)
			s := h.client(t, over, nil)
			many(t, s, 20)
			settle()
			before := runtime.NumGoroutine()
			for range 2 {
				many(t, s, 200)
			}
			settle()
			for range 50 {
				if runtime.NumGoroutine() <= before+20 {
					return
				}
				settle()
			}
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines, %d before:\n%.5000s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		})
	}
}

func settle() {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	time.Sleep(100 * time.Millisecond)
}

func many(t *testing.T, s *sdk.ClientSession, n int) {
	t.Helper()
	hello, spin := wasm(example(t, "hello"), nil), wasm(example(t, "spin"), nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			ctx, args := t.Context(), hello
			if i%2 == 1 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Duration(20+i)*time.Millisecond)
				defer cancel()
				args = spin
			}
			r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "run_wasm", Arguments: args})
			switch {
			case i%2 == 1 && err == nil:
				t.Errorf("an endless unit ended: %v", r.StructuredContent)
			case i%2 == 0 && (err != nil || r.IsError):
				t.Errorf("a short one: %v %v", r, err)
			}
		})
	}
	wg.Wait()
}

func TestTheServerSpeaksThreeRevisions(t *testing.T) {
	h := newHouse(t, nil)
	url := h.http(t, mcp.HTTPConfig{})
	_, r := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"})
	var d struct{ SupportedVersions []string }
	if err := json.Unmarshal(r.Result, &d); err != nil {
		t.Fatal(r.text)
	}
	for _, want := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		if !strings.Contains(fmt.Sprint(d.SupportedVersions), want) {
			t.Errorf("%s isn't among %v", want, d.SupportedVersions)
		}
	}
	for _, v := range []string{"2025-06-18", "2025-11-25"} {
		_, r := post(t, url, strings.Replace(hello1, "2025-06-18", v, 1), nil)
		if !strings.Contains(string(r.Result), `"protocolVersion":"`+v+`"`) {
			t.Errorf("%s: %s", v, short(r.text))
		}
	}
}
