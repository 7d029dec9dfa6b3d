package netstack

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// town is a world with a server of each kind at public-looking addresses.
func town(t testing.TB) *world {
	web := webServer(t).Listener.Addr().String()
	secure := httptest.NewUnstartedServer(nil)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	certificate := secure.TLS.Certificates
	secrets := tlsServer(t, certificate)
	plain := serve(t, echo)
	return &world{
		names: map[string][]string{
			"example.com": {"93.184.216.34"},
			"six.example": {"2606:2800:220:1::1"},
			"inside.test": {"10.1.2.3"},
			"local.test":  {"127.0.0.1"},
			"meta.test":   {"169.254.169.254"},
			"mapped.test": {"::ffff:127.0.0.1"},
			"nat64.test":  {"64:ff9b::7f00:1"},
			"mixed.test":  {"127.0.0.1", "fd00::1", "93.184.216.34"},
			"link.test":   {"fe80::1"},
		},
		servers: map[string]string{
			"93.184.216.34:80":         web,
			"93.184.216.34:443":        secrets,
			"93.184.216.34:7":          plain,
			"[2606:2800:220:1::1]:80":  web,
			"192.0.2.7:80":             web,
			"10.1.2.3:80":              web,
			"127.0.0.1:80":             web,
			"[::1]:80":                 web,
			"169.254.169.254:80":       web,
			"[::ffff:127.0.0.1]:80":    web,
			"[64:ff9b::7f00:1]:80":     web,
			"[2001:db8::1]:80":         web,
			"93.184.216.34:25":         serve(t, func(c net.Conn) { io.WriteString(c, "220 hello\r\n"); io.Copy(c, c) }),
			"93.184.216.34:9":          serve(t, func(c net.Conn) {}),
			"[2606:2800:220:1::1]:443": secrets,
		},
	}
}

// tlsServer says what server it was asked for.
func tlsServer(t testing.TB, certificates []tls.Certificate) string {
	return serve(t, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: certificates})
		if err := s.Handshake(); err == nil {
			fmt.Fprintf(s, "you asked for %s", s.ConnectionState().ServerName)
			s.Close()
		}
	})
}

// TestNothingElseWorks: whatever isn't granted isn't reached, and nobody outside is
// asked about it.
func TestNothingElseWorks(t *testing.T) {
	w := town(t)
	u := start(t, w, "example.com:80", "192.0.2.7:80")
	u.gets("served", "get", "http://example.com/")
	u.gets("served", "get", "http://192.0.2.7/")
	before := len(w.reached())
	for _, to := range []string{
		"93.184.216.34:80",   // what the name stands for
		"192.0.2.7:81",       // another port
		"192.0.2.8:80",       // another address
		"127.0.0.1:80",       // its own loopback has nobody there
		"169.254.169.254:80", // metadata
		"10.0.0.1:80",
		"198.18.0.1:80",           // the resolver has no other service
		"198.18.7.7:80",           // an address inside that no name has
		"198.18.1.1:81",           // the name's, at another port
		"[2606:2800:220:1::1]:80", // by IPv6
		"[::ffff:192.0.2.8]:80",
		"[fd6a:6f75:6c65:1::9]:80",
		"255.255.255.255:80",
	} {
		if got, err := u.do("dial", "tcp", to); err == nil {
			t.Errorf("%s: connected to %s", to, got)
		}
	}
	for _, to := range []string{"8.8.8.8:53", "198.18.1.1:81", "[2606:2800:220:1::1]:53", "169.254.169.254:80"} {
		u.fails("refused", "say", "udp", to, "hello")
	}
	u.fails("", "lookup", "example.org")
	u.fails("", "lookup", "www.example.com")
	u.fails("", "lookup", "com")
	if after := len(w.reached()); after != before {
		t.Errorf("dialled %q, want nothing more", w.reached()[before:])
	}
	if slices.ContainsFunc(w.asked, func(name string) bool { return name != "example.com" }) {
		t.Errorf("looked up %q, want example.com alone", w.asked)
	}
	u.denied("tcp", "93.184.216.34:80", "not on", "network.outbound: 93.184.216.34:80")
	u.denied("udp", "8.8.8.8:53", "not on", "network.outbound: 8.8.8.8:53")
	u.denied("tcp", "169.254.169.254:80", "not on", "network.outbound: 169.254.169.254:80")
	u.denied("tcp", "[2606:2800:220:1::1]:80", "not on", "network.outbound: [2606:2800:220:1::1]:80")
	u.denied("tcp", "198.18.7.7:80", "not on", "")
	u.denied("dns", "www.example.com", "no endpoint", "network.outbound: www.example.com:443")
}

// TestEmptyGrantReachesNothing by any family.
func TestEmptyGrantReachesNothing(t *testing.T) {
	w := town(t)
	u := start(t, w)
	for _, to := range []string{"93.184.216.34:80", "[2606:2800:220:1::1]:80", "127.0.0.1:80", "198.18.0.1:80"} {
		u.fails("refused", "dial", "tcp", to)
	}
	for _, to := range []string{"93.184.216.34:53", "[2606:2800:220:1::1]:53"} {
		u.fails("refused", "say", "udp", to, "hello")
	}
	for name := range w.names {
		u.fails("", "lookup", name)
	}
	if len(w.reached())+len(w.asked) > 0 {
		t.Errorf("got %q dialled and %q looked up, want nothing", w.reached(), w.asked)
	}
	if got := u.Counts(); got.Connections != 0 || got.Denied == 0 {
		t.Errorf("got %+v, want denials alone", got)
	}
}

// TestNameLeadsNowhereInside: whoever owns a granted name can't point it at the
// host's own network.
func TestNameLeadsNowhereInside(t *testing.T) {
	w := town(t)
	names := []string{"inside.test", "local.test", "meta.test", "mapped.test", "nat64.test", "link.test"}
	var outbound []string
	for _, name := range append(names, "mixed.test") {
		outbound = append(outbound, name+":80")
	}
	u := start(t, w, outbound...)
	for _, name := range names {
		u.fails("refused", "get", "http://"+name+"/")
	}
	if got := w.reached(); len(got) > 0 {
		t.Errorf("dialled %q, want nothing", got)
	}
	u.denied("tcp", "local.test:80", "loopback", "network.outbound: 127.0.0.1:80")
	u.denied("tcp", "mapped.test:80", "loopback", "network.outbound: 127.0.0.1:80")
	u.denied("tcp", "meta.test:80", "metadata", "network.outbound: 169.254.169.254:80")
	u.denied("tcp", "inside.test:80", "private", "network.outbound: 10.1.2.3:80")
	u.gets("mixed.test served", "get", "http://mixed.test/")
	if got := w.reached(); !slices.Equal(got, []string{"93.184.216.34:80"}) {
		t.Errorf("dialled %q, want the public address alone", got)
	}
}

// TestRebinding: a name is resolved for each connection, and what it is then counts.
func TestRebinding(t *testing.T) {
	w := town(t)
	u := start(t, w, "example.com:80", "10.1.2.3:80")
	u.gets("served", "get", "http://example.com/")
	w.mu.Lock()
	w.names["example.com"] = []string{"127.0.0.1"}
	w.mu.Unlock()
	u.fails("refused", "get", "http://example.com/")
	w.mu.Lock()
	w.names["example.com"] = []string{"10.1.2.3"} // that one is granted itself
	w.mu.Unlock()
	u.gets("served", "get", "http://example.com/")
}

// TestLoopbackOfTheHost is reached where its address is granted, and only there.
func TestLoopbackOfTheHost(t *testing.T) {
	w := town(t)
	for _, who := range everyone {
		t.Run(who.name, func(t *testing.T) {
			if !who.valid() {
				t.Skip("needs root")
			}
			u := startAs(t, who, Config{Network: w, Outbound: []string{"127.0.0.1:80", "[::1]:80", "localhost:80"}})
			u.gets("served", "get", "http://127.0.0.1/")
			u.gets("served", "get", "http://localhost/")
			u.fails("reset", "get", "http://127.0.0.1/", "evil.example")
			u.fails("refused", "dial", "tcp", "127.0.0.1:81")
			u.fails("refused", "dial", "tcp", "127.0.0.2:80")
		})
	}
}

func TestAnotherServerName(t *testing.T) {
	w := town(t)
	u := start(t, w, "example.com:443", "93.184.216.34:443", "six.example:443")
	u.gets("you asked for example.com", "tls", "example.com:443", "example.com")
	u.gets("you asked for EXAMPLE.com", "tls", "example.com:443", "EXAMPLE.com")
	u.gets("you asked for six.example", "tls", "six.example:443", "six.example")
	u.fails("reset", "tls", "example.com:443", "evil.example")
	u.fails("reset", "tls", "example.com:443", "six.example")
	u.gets("you asked for ", "tls", "93.184.216.34:443", "93.184.216.34") // no name in TLS
	u.fails("reset", "tls", "93.184.216.34:443", "example.com")
	u.denied("tcp", "example.com:443", `names "evil.example"`, "")
}

func TestAnotherHost(t *testing.T) {
	w := town(t)
	u := start(t, w, "example.com:80", "example.com:7", "192.0.2.7:80")
	u.gets("example.com served", "get", "http://example.com/", "example.com")
	u.gets("served", "get", "http://example.com/", "Example.COM.:80")
	u.fails("reset", "get", "http://example.com/", "evil.example")
	u.fails("reset", "get", "http://192.0.2.7/", "example.com")
	// The second request of a connection, after a body.
	second := "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	u.fails("", "say", "tcp", "example.com:80", second)
	if got, err := u.do("say", "tcp", "example.com:80", strings.Replace(second, "evil.example", "example.com", 1)); err != nil || strings.Count(got, "200 OK") != 2 {
		t.Errorf("got %q, %v, want two answers", got, err)
	}
	u.gets("hello, this is no HTTP\n", "say", "tcp", "example.com:7", "hello, this is no HTTP\n")
	u.denied("tcp", "example.com:80", `names "evil.example"`, "")
}

func TestIPv6AndServerFirst(t *testing.T) {
	w := town(t)
	u := start(t, w, "six.example:80", "[2001:db8::1]:80", "example.com:25", "example.com:9")
	u.gets("served", "get", "http://six.example/")
	u.gets("served", "get", "http://[2001:db8::1]/")
	u.gets("220 hello\r\nEHLO me\r\n", "say", "tcp", "example.com:25", "EHLO me\r\n")
	got, err := u.do("lookup", "six.example")
	if err != nil || !strings.Contains(got, "198.18.1.") || !strings.Contains(got, "fd6a:6f75:6c65:1::") {
		t.Errorf("got %q, %v, want addresses of both families", got, err)
	}
	for _, a := range strings.Fields(got) {
		u.gets("220", "say", "tcp", net.JoinHostPort(strings.Replace(strings.Replace(a, "1.2", "1.1", 1), "::2", "::1", 1), "25"), "")
	}
}
