package mcp_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/internal/mcp"
)

func TestTheGate(t *testing.T) {
	url := newHouse(t, nil).http(t, mcp.HTTPConfig{Hosts: []string{"box.example"}, Origins: []string{"https://app.example"}})
	for _, c := range []struct {
		name   string
		header map[string]string
		status int
	}{
		{"as it should be", nil, 200},
		{"no token", map[string]string{"Authorization": ""}, 401},
		{"another token", map[string]string{"Authorization": "Bearer " + token + "x"}, 401},
		{"part of the token", map[string]string{"Authorization": "Bearer " + token[:20]}, 401},
		{"another scheme", map[string]string{"Authorization": "Basic " + token}, 401},
		{"a foreign host", map[string]string{"Host": "evil.example"}, 403},
		{"a foreign host with our port", map[string]string{"Host": "evil.example:8931"}, 403},
		{"a host that begins like ours", map[string]string{"Host": "localhost.evil.example"}, 403},
		{"an address that isn't ours", map[string]string{"Host": "10.0.0.1"}, 403},
		{"a host that was allowed", map[string]string{"Host": "Box.Example:443"}, 200},
		{"localhost", map[string]string{"Host": "localhost:1234"}, 200},
		{"v6", map[string]string{"Host": "[::1]:1234"}, 200},
		{"a foreign origin", map[string]string{"Origin": "http://evil.example"}, 403},
		{"no origin at all, as pages in a sandbox have", map[string]string{"Origin": "null"}, 403},
		{"another scheme", map[string]string{"Origin": "file://localhost"}, 403},
		{"an origin that was allowed", map[string]string{"Origin": "https://app.example"}, 200},
		{"its name with another scheme", map[string]string{"Origin": "http://app.example"}, 403},
		{"an origin of this machine", map[string]string{"Origin": "http://localhost:3000"}, 200},
		{"an origin that looks like it", map[string]string{"Origin": "http://localhost:3000.evil.example"}, 403},
		{"no JSON", map[string]string{"Content-Type": "text/plain"}, 415},
		{"wants no events", map[string]string{"Accept": "application/json"}, 400},
	} {
		status, r := post(t, url, hello1, c.header)
		if status != c.status {
			t.Errorf("%s: got %d, want %d: %s", c.name, status, c.status, short(r.text))
		}
	}
}

func TestWhoHasNoTokenIsChallenged(t *testing.T) {
	url := newHouse(t, nil).http(t, mcp.HTTPConfig{})
	resp, err := http.Post(url, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("got %d, %q", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
	}
	if _, err := newHouse(t, nil).Handler(mcp.HTTPConfig{}); err == nil {
		t.Error("a server without any token")
	}
}

func TestBodiesAreBounded(t *testing.T) {
	url := newHouse(t, nil).http(t, mcp.HTTPConfig{})
	status, r := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", 25<<20)+`"}}`, nil)
	if status != http.StatusRequestEntityTooLarge || r.code() != -32600 {
		t.Errorf("got %d %s", status, short(r.text))
	}
}

func TestOtherPathsAndMethods(t *testing.T) {
	at := newHouse(t, nil).http(t, mcp.HTTPConfig{})
	u, _ := url.Parse(at)
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/", 404}, {"GET", "/mcp/x", 404}, {"PUT", "/mcp", 405}, {"GET", "/mcp", 400}, {"DELETE", "/mcp", 400}} {
		req, _ := http.NewRequestWithContext(t.Context(), c.method, "http://"+u.Host+c.path, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", "text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s %s: got %d, want %d", c.method, c.path, resp.StatusCode, c.status)
		}
	}
}

// A header of ours that a client sends means nothing.
func TestOurOwnHeaderIsNotAClients(t *testing.T) {
	url := newHouse(t, nil).http(t, mcp.HTTPConfig{})
	header := map[string]string{}
	post(t, url, hello1, header)
	header["Joulebox-Call"] = header["Mcp-Session-Id"] + " 1"
	if status, r := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_runs","arguments":{}}}`, header); status != 200 || r.Error != nil {
		t.Errorf("got %d %s", status, short(r.text))
	}
}

// Who sends headers byte by byte holds a connection, and nothing more; others are
// served meanwhile.
func TestASlowClientHoldsNobodyUp(t *testing.T) {
	at := newHouse(t, nil).http(t, mcp.HTTPConfig{})
	u, _ := url.Parse(at)
	for range 50 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
	}
	start := time.Now()
	if status, _ := post(t, at, hello1, nil); status != 200 || time.Since(start) > 2*time.Second {
		t.Errorf("got %d after %v", status, time.Since(start))
	}
}
