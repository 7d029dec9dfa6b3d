package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/mcp"
	"github.com/joulebox/joulebox/internal/vectors"
)

type nasty struct {
	Name            string `json:"name"`
	AfterInitialize bool   `json:"after_initialize"`
	Send            string `json:"send"`
	Expect          string `json:"expect"`
}

const pingLast = `{"jsonrpc":"2.0","id":"last","method":"ping"}`

// Each case: only messages on the output, the connection lives, and the next ping
// is answered.
func TestVectorsOfNastyMessages(t *testing.T) {
	var file struct{ Cases []nasty }
	vectors.Load(t, "08-mcp", "jsonrpc-nasties.json", &file)
	if len(file.Cases) < 20 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) { c.check(t) })
	}
}

func (c nasty) check(t *testing.T) {
	p := newHouse(t, nil).stdio(t)
	if c.AfterInitialize {
		p.initialize(t)
	}
	if c.Name == "10 MB line" {
		c.Send = strings.Repeat(" ", 10<<20) + `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	}
	if c.Name == "stdin closed mid line" {
		_, _ = io.WriteString(p.in, c.Send)
		_ = p.in.Close()
		if err := p.ended(t, time.Second); err != nil {
			t.Error(err)
		}
		return
	}
	p.send(t, c.Send, pingLast)
	var before []reply
	for {
		r := p.next(t)
		if string(r.ID) == `"last"` {
			break
		}
		before = append(before, r)
	}
	for len(before) < c.answers() { // calls are answered in any order
		before = append(before, p.next(t))
	}
	c.judge(t, before)
}

// answers is how many messages the case is answered with.
func (c nasty) answers() int {
	switch {
	case strings.HasPrefix(c.Expect, "no answer"), c.Expect == "ignored":
		return 0
	case strings.HasPrefix(c.Expect, "two answers"):
		return 2
	}
	return 1
}

func (c nasty) judge(t *testing.T, got []reply) {
	t.Helper()
	if len(got) != c.answers() {
		t.Fatalf("got %d answers, want %d (%s): %v", len(got), c.answers(), c.Expect, got)
	}
	if len(got) == 0 {
		return
	}
	r := got[0]
	code := 0
	if _, err := fmt.Sscanf(c.Expect, "error %d", &code); err == nil && code != 0 {
		if lenient := strings.Contains(c.Expect, " or "); r.Error == nil && !lenient || r.Error != nil && r.Error.Code != int64(code) {
			t.Errorf("got %s, want %s", short(r.text), c.Expect)
		}
	}
	switch {
	case strings.Contains(c.Expect, "9007199254740993 exactly"):
		if string(r.ID) != "9007199254740993" {
			t.Errorf("got id %s", r.ID)
		}
	case strings.Contains(c.Expect, `answer id ""`):
		if string(r.ID) != `""` || r.Result == nil {
			t.Errorf("got %s", r.text)
		}
	case strings.Contains(c.Expect, "isError"), strings.Contains(c.Expect, "refused"), strings.Contains(c.Expect, "exact in the grant"):
		if !strings.Contains(string(r.Result), `"isError":true`) || strings.Contains(r.text, "receipt_id") {
			t.Errorf("got %s", r.text)
		}
	}
	if r.Error != nil && (r.Error.Code == 0 || strings.Contains(r.Error.Message, "unmarshal") || strings.Contains(r.Error.Message, "mcp.")) {
		t.Errorf("the error isn't fit for strangers: %s", r.text)
	}
}

func short(s string) string { return s[:min(len(s), 300)] }

func (p *pipes) ended(t testing.TB, within time.Duration) error {
	t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(within):
		return fmt.Errorf("still there after %v", within)
	}
}

// More of the kind, ours: what is sent, the code that it is answered with, and the
// id. Code 0 is a result; -1 is no answer.
func TestMoreNastyMessages(t *testing.T) {
	call := func(args string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_wasm","arguments":` + args + `}}`
	}
	for _, c := range []struct {
		send string
		code int64
		id   string
	}{
		{`nonsense`, -32700, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, -32700, `null`},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffng\"}", -32700, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, -32700, `null`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, `null`},
		{`[1`, -32700, `null`},
		{`5`, -32600, `null`},
		{`"ping"`, -32600, `null`},
		{`null`, -32600, `null`},
		{`{}`, -32600, `null`},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, `null`},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":-5,"method":"ping"}`, 0, `-5`},
		{`{"jsonrpc":"2.0","id":-0,"method":"ping"}`, 0, `-0`},
		{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, 0, `123456789012345678901234567890`},
		{`{"jsonrpc":"2.0","id":"joulebox:1","method":"ping"}`, 0, `"joulebox:1"`},
		{`{"jsonrpc":"2.0","id":"a\u0000b","method":"ping"}`, 0, `"a\u0000b"`},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"nope"}`, -32601, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"Ping"}`, -32601, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":5}`, -32602, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, -32602, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"list_runs"}}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"joulebox://runs/../../etc/bundle"}}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, -32600, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, -32600, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}}`, -32601, `1`},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"run_wasm","arguments":{}}}`, -1, ``},
		{`{"jsonrpc":"2.0","id":7,"result":{}}`, -1, ``},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}`, -1, ``},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"},"result":{}}`, -32600, `null`},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, -1, ``},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, -1, ``},
		{`   `, -1, ``},
		{call(`{"clock":true,"clock":false}`), -32600, `null`},
		{call(`null`), 0, `1`},
		{call(`"x"`), 0, `1`},
		{call(strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200)), -32600, `null`},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, -32700, `null`},
	} {
		name := c.send
		if len(name) > 60 {
			name = name[:60]
		}
		t.Run(strings.ToValidUTF8(name, "?"), func(t *testing.T) {
			p := newHouse(t, nil).stdio(t)
			p.initialize(t)
			p.send(t, c.send)
			if c.code == -1 {
				p.send(t, pingLast)
				if r := p.next(t); string(r.ID) != `"last"` {
					t.Errorf("answered with %s", r.text)
				}
				return
			}
			r := p.next(t)
			if string(r.ID) != c.id {
				t.Errorf("got id %s, want %s", r.ID, c.id)
			}
			if got := r.code(); got != c.code {
				t.Errorf("got %s, want code %d", r.text, c.code)
			}
			p.send(t, pingLast)
			if r := p.next(t); string(r.ID) != `"last"` {
				t.Errorf("the connection is no more: %s", r.text)
			}
		})
	}
}

func (r reply) code() int64 {
	if r.Error == nil {
		return 0
	}
	return r.Error.Code
}

func TestALineTooLongIsAnsweredAndForgotten(t *testing.T) {
	p := newHouse(t, nil).stdio(t)
	p.initialize(t)
	go func() {
		part := strings.Repeat("x", 1<<20)
		for range 40 {
			if _, err := io.WriteString(p.in, part); err != nil {
				return
			}
		}
		_, _ = io.WriteString(p.in, "\n"+pingLast+"\n")
	}()
	if r := p.next(t); r.code() != -32600 || !strings.Contains(r.Error.Message, "longer than") {
		t.Errorf("got %s", r.text)
	}
	if r := p.next(t); string(r.ID) != `"last"` {
		t.Errorf("got %s", r.text)
	}
}

func TestNothingRunsBeforeInitialize(t *testing.T) {
	h := newHouse(t, nil)
	p := h.stdio(t)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_runs","arguments":{}}}`)
	if r := p.next(t); r.code() != -32600 {
		t.Errorf("got %s", r.text)
	}
}

func TestAnUnknownRevisionIsAnsweredWithOneThatIsSpoken(t *testing.T) {
	for asked, want := range map[string]string{"2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25", "2026-07-28": "2025-11-25", "": "2025-11-25"} {
		p := newHouse(t, nil).stdio(t)
		p.send(t, strings.Replace(hello1, "2025-06-18", asked, 1))
		var v struct{ ProtocolVersion string }
		if err := json.Unmarshal(p.next(t).Result, &v); err != nil || v.ProtocolVersion != want {
			t.Errorf("asked for %q: got %q (%v), want %q", asked, v.ProtocolVersion, err, want)
		}
	}
}

// The same messages over HTTP, where a message that is none is a bad request.
func TestNastyMessagesOverHTTP(t *testing.T) {
	url := newHouse(t, nil).http(t, mcp.HTTPConfig{})
	for _, c := range []struct {
		send   string
		status int
		code   int64
		id     string
	}{
		{`{`, 400, -32700, `null`},
		{`[]`, 400, -32600, `null`},
		{``, 400, -32700, `null`},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, 400, -32600, `null`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, 200, 0, `9007199254740993`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, -32600, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, 200, -32600, `1`},
	} {
		status, r := post(t, url, c.send, nil)
		if status != c.status || r.code() != c.code || string(r.ID) != c.id {
			t.Errorf("%s: got status %d, %s; want %d, code %d, id %s", c.send, status, r.text, c.status, c.code, c.id)
		}
		if strings.Contains(r.text, "unmarshal") || strings.Contains(r.text, "*mcp") {
			t.Errorf("%s: not fit for strangers: %s", c.send, r.text)
		}
	}
}

// post sends one message and reads one, as JSON or as an event.
func post(t testing.TB, url, body string, header map[string]string) (int, reply) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	if v := header["Host"]; v != "" {
		req.Host = v
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			text = data
		}
	}
	r := reply{text: strings.TrimSpace(text)}
	_ = json.Unmarshal([]byte(text), &r)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && header != nil {
		header["Mcp-Session-Id"] = id
	}
	return resp.StatusCode, r
}
