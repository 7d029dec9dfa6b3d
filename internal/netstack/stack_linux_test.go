package netstack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// serve runs a server on loopback.
func serve(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
	return l.Addr().String()
}

func echo(c net.Conn) { io.Copy(c, c) }

func webServer(t testing.TB) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s served %s", r.Host, r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestGrantedNameWorksForEveryone(t *testing.T) {
	web := webServer(t).Listener.Addr().String()
	for _, who := range everyone {
		t.Run(who.name, func(t *testing.T) {
			if !who.valid() {
				t.Skip("needs root")
			}
			w := &world{names: map[string][]string{"example.com": {"93.184.216.34"}}, servers: map[string]string{"93.184.216.34:80": web}}
			u := startAs(t, who, Config{Network: w, Outbound: []string{"example.com:80"}})
			u.gets("example.com served /a", "get", "http://example.com/a")
			u.fails("refused", "get", "http://example.com:81/")
			u.fails("no such host", "get", "http://example.org/")
			u.denied("tcp", "example.com:81", "not on network.outbound", "network.outbound: example.com:81")
			u.denied("dns", "example.org", "no endpoint", "network.outbound: example.org:443")
			u.end()
			if err := u.Drain(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
