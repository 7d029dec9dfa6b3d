package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
)

// hello is what a TLS client sends first.
func hello(t testing.TB, server string, version uint16) []byte {
	t.Helper()
	client, far := net.Pipe()
	defer far.Close()
	go func() {
		defer client.Close()
		client.SetDeadline(time.Now().Add(10 * time.Second))
		_ = tls.Client(client, &tls.Config{ServerName: server, InsecureSkipVerify: true, MaxVersion: version}).Handshake()
	}()
	head := make([]byte, recordHeader)
	if _, err := io.ReadFull(far, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	if _, err := io.ReadFull(far, body); err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

// records puts a handshake's bytes into records of so many.
func records(handshake []byte, size int) (b []byte) {
	for len(handshake) > 0 {
		n := min(size, len(handshake))
		b = append(b, record(recordHandshake, handshake[:n])...)
		handshake = handshake[n:]
	}
	return b
}

func record(kind byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{kind, 3, 1}, uint16(len(body))), body...)
}

// verdict is what an inspector says of a stream that comes in pieces of so many
// bytes.
func verdict(endpoint string, stream []byte, piece int) error {
	v := NewInspector(endpoint)
	for len(stream) > 0 {
		n := min(piece, len(stream))
		if err := v.Inspect(stream[:n]); err != nil {
			return err
		}
		stream = stream[n:]
	}
	return nil
}

// judged fails the test unless the verdict is that, in whatever pieces. "" is none.
func judged(t *testing.T, name, endpoint string, stream []byte, want string) {
	t.Helper()
	for _, piece := range []int{1, 2, 3, 7, 64, 1000, len(stream) + 1} {
		err := verdict(endpoint, stream, piece)
		var denied *Denied
		switch {
		case want == "" && err != nil:
			t.Errorf("%s, in pieces of %d: got %v, want no objection", name, piece, err)
		case want != "" && (!errors.As(err, &denied) || !strings.Contains(denied.Reason, want)):
			t.Errorf("%s, in pieces of %d: got %v, want it denied with %q", name, piece, err, want)
		}
	}
}

func TestServerNames(t *testing.T) {
	const here = "example.com:443"
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		good, bad := hello(t, "example.com", version), hello(t, "evil.example", version)
		judged(t, "the granted name", here, good, "")
		judged(t, "another name", here, bad, `names "evil.example", want the granted host "example.com"`)
		judged(t, "the name in another case", here, bytes.ReplaceAll(good, []byte("example.com"), []byte("eXample.COM")), "")
		judged(t, "no name", here, hello(t, "93.184.216.34", version), "")
		judged(t, "a name for an address", "93.184.216.34:443", good, `want the granted host "93.184.216.34"`)
		for _, size := range []int{1, 5, 100} {
			judged(t, "another name in small records", here, records(bad[recordHeader:], size), "names")
			judged(t, "the granted name in small records", here, records(good[recordHeader:], size), "")
		}
		judged(t, "a second hello", here, append(bytes.Clone(good), bad...), "names")
		change := record(recordChangeCipher, []byte{1})
		judged(t, "a second hello after the change of ciphers", here, append(append(bytes.Clone(good), change...), bad...), "names")
		judged(t, "encrypted messages after it", here, append(append(bytes.Clone(good), change...), record(recordHandshake, bytes.Repeat([]byte{7, 200}, 20))...), "")
		judged(t, "data", here, append(bytes.Clone(good), record(recordData, bad)...), "")
		judged(t, "another message first", here, append(records([]byte{11, 0, 0, 3, 1, 2, 3}, 2), bad...), "names")
		judged(t, "an alert first", here, append(record(recordAlert, []byte{1, 0}), bad...), "")
		for cut := recordHeader + 1; cut < len(good)-recordHeader; cut += 13 {
			short := bytes.Clone(good[:len(good)-cut])
			binary.BigEndian.PutUint16(short[3:], uint16(len(short)-recordHeader))
			short[recordHeader+1], short[recordHeader+2], short[recordHeader+3] = 0, byte((len(short)-9)>>8), byte(len(short)-9)
			if len(short) > 60 && verdict(here, short, 1000) == nil {
				names, err := serverNames(short[recordHeader+handshakeHeader:])
				t.Errorf("a hello that ends %d bytes early passed: %q, %v", cut, names, err)
			}
		}
	}
	judged(t, "a hello without end", here, records([]byte{1, 2, 0, 0, 3, 3}, 10), "ClientHello of 131072 bytes")
	judged(t, "an unknown record", here, append(record(recordHandshake, []byte{1, 0}), record(99, []byte{1})...), "unknown type")
	judged(t, "no TLS", here, []byte{recordHandshake, 9, 9, 9, 9, 9}, "")
	judged(t, "an old hello", here, append([]byte{0x80, 0x2e, 1, 3, 1}, make([]byte, 50)...), "")
}

// TestNameNeverGoesOutWhole: what is sent before a denial is no hello that a server
// could act on.
func TestNameNeverGoesOutWhole(t *testing.T) {
	bad := hello(t, "evil.example", tls.VersionTLS13)
	v := NewInspector("example.com:443")
	for i := range bad {
		if err := v.Inspect(bad[i : i+1]); err != nil {
			if i < len(bad)-1 {
				t.Errorf("denied at byte %d of %d, want it when the message is whole", i, len(bad))
			}
			return
		}
	}
	t.Error("it was never denied")
}

func TestHosts(t *testing.T) {
	const here = "example.com:80"
	for _, c := range []struct{ name, stream, want string }{
		{"the granted host", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", ""},
		{"with a port", "GET / HTTP/1.1\r\nHost: example.com:80\r\n\r\n", ""},
		{"in another case, with a dot", "GET / HTTP/1.1\r\nhOST:\tEXAMPLE.com. \r\n\r\n", ""},
		{"another host", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", `names "evil.example"`},
		{"a host beneath", "GET / HTTP/1.1\r\nHost: www.example.com\r\n\r\n", "names"},
		{"a user name", "GET / HTTP/1.1\r\nHost: example.com@evil.example\r\n\r\n", "names"},
		{"a strange port", "GET / HTTP/1.1\r\nHost: evil.example:example.com\r\n\r\n", "want a host and a port"},
		{"none", "GET / HTTP/1.0\r\n\r\n", ""},
		{"an empty one", "GET / HTTP/1.1\r\nHost:\r\n\r\n", ""},
		{"two", "GET / HTTP/1.1\r\nHost: example.com\r\nHost: evil.example\r\n\r\n", "names"},
		{"late", "GET / HTTP/1.1\r\nA: b\r\nC: d\r\nHost: evil.example\r\n\r\n", "names"},
		{"lines that end short", "GET / HTTP/1.1\nHost: evil.example\n\n", "names"},
		{"blank lines first", "\r\n\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"an unusual method", "FRONT / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"a URL", "GET http://evil.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "target names"},
		{"a URL of the granted host", "GET HTTP://example.com/a?b HTTP/1.1\r\nHost: example.com\r\n\r\n", ""},
		{"a URL with a user name", "GET http://example.com@evil.example/ HTTP/1.1\r\n\r\n", "target names"},
		{"a path that is a URL", "GET /http://evil.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n", ""},
		{"a target of no kind", "GET evil.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "want a path or a URL"},
		{"all of a server", "OPTIONS * HTTP/1.1\r\nHost: example.com\r\n\r\n", ""},
		{"a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "CONNECT names"},
		{"a tunnel to itself, another host in it", "CONNECT example.com:80 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"a space before the colon", "GET / HTTP/1.1\r\nHost : evil.example\r\n\r\n", "want a name"},
		{"a folded line", "GET / HTTP/1.1\r\nA: b\r\n Host: evil.example\r\n\r\n", "want a name"},
		{"a hidden line", "GET / HTTP/1.1\r\nA: b\rHost: evil.example\r\n\r\n", "within a line"},
		{"a NUL", "GET / HTTP/1.1\r\nA: b\x00\r\n\r\n", "within a line"},
		{"another version", "GET / HTTP/1.9\r\nHost: example.com\r\n\r\n", "version"},
		{"the second request", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"after a body", "PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"in a body", "PUT / HTTP/1.1\r\nContent-Length: 41\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n.....", ""},
		{"after chunks", "PUT / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\nA\r\nGET / HTTP\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"lengths and chunks", "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "both a length and chunks"},
		{"two lengths", "PUT / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", "two lengths"},
		{"a signed length", "PUT / HTTP/1.1\r\nContent-Length: +3\r\n\r\n", "want a number"},
		{"an empty length", "PUT / HTTP/1.1\r\nContent-Length:\r\n\r\n", "want a number"},
		{"another encoding", "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n", "want chunked alone"},
		{"chunks before there were any", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "want chunked alone"},
		{"a signed chunk", "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", "chunk size"},
		{"a chunk that runs on", "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "after a chunk"},
		{"no request after one", "GET / HTTP/1.1\r\n\r\nhello\r\n", "want another one"},
		{"another protocol after one", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81\x85abcdefghi", ""},
		{"an upgrade that isn't one", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"an upgrade with a body", "PUT / HTTP/1.1\r\nUpgrade: x\r\nContent-Length: 3\r\n\r\nGETGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "names"},
		{"an upgrade to TLS", "GET / HTTP/1.1\r\nUpgrade: TLS/1.0\r\n\r\n" + string(hello(t, "evil.example", tls.VersionTLS12)), "names"},
		{"another protocol of lines", "EHLO example.org\r\nHost: evil.example\r\n\r\n", ""},
		{"one word", "PING\r\n", ""},
		{"another one, binary", "\x00\x00\x00\x08\x04\xd2\x16\x2f", ""},
		{"letters without end", strings.Repeat("a", 2*maxLine), ""},
		{"a line without end", "GET /" + strings.Repeat("a", 2*maxLine), "line of more than"},
	} {
		judged(t, c.name, here, []byte(c.stream), c.want)
	}
	judged(t, "an address", "[2001:db8::1]:80", []byte("GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n"), "")
	judged(t, "loopback's name", "127.0.0.1:80", []byte("GET / HTTP/1.1\r\nHost: localhost:80\r\n\r\n"), "")
	judged(t, "loopback's name for another address", "10.0.0.1:80", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "names")
	judged(t, "a spelling that a host call may have", "EXAMPLE.com.:80", []byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"), "")
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

func frame(kind, flags byte, payload []byte) []byte {
	n := len(payload)
	return append([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, 1}, payload...)
}

func fields(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

func TestHostsOfHTTP2(t *testing.T) {
	const here = "example.com:80"
	good, bad := fields(":method", "GET", ":authority", "example.com:80"), fields(":method", "GET", ":authority", "evil.example")
	settings := frame(4, 0, make([]byte, 6))
	join := func(list ...[]byte) []byte { return append([]byte(preface), bytes.Join(list, nil)...) }
	for _, c := range []struct {
		name   string
		stream []byte
		want   string
	}{
		{"the granted host", join(settings, frame(frameHeaders, flagEndHeaders, good), frame(0, 1, []byte("data"))), ""},
		{"another host", join(settings, frame(frameHeaders, flagEndHeaders, bad)), `names "evil.example"`},
		{"another host in its field", join(frame(frameHeaders, flagEndHeaders, fields("host", "evil.example"))), "names"},
		{"the second request", join(frame(frameHeaders, flagEndHeaders, good), frame(frameHeaders, flagEndHeaders, fields(":authority", "evil.example"))), "names"},
		{"in two frames", join(frame(frameHeaders, 0, bad[:len(bad)-3]), frame(frameContinuation, flagEndHeaders, bad[len(bad)-3:])), "names"},
		{"padded", join(frame(frameHeaders, flagEndHeaders|flagPadded|flagPriority, append(append([]byte{2, 0, 0, 0, 0, 9}, bad...), 0, 0))), "names"},
		{"a piece on its own", join(frame(frameContinuation, flagEndHeaders, bad)), "can't be read"},
		{"something between the pieces", join(frame(frameHeaders, 0, good[:2]), settings), "can't be read"},
		{"padding beyond the end", join(frame(frameHeaders, flagEndHeaders|flagPadded, []byte{9, 1})), "can't be read"},
		{"no fields", join(frame(frameHeaders, flagEndHeaders, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})), "can't be read"},
		{"no preface", []byte("PRI * HTTP/2.0\r\n\r\nGET / HTTP/1.1\r\n"), "can't be read"},
		{"fields without end", join(frame(frameHeaders, 0, make([]byte, 1<<15)), frame(frameContinuation, 0, make([]byte, 1<<15)), frame(frameContinuation, 0, make([]byte, 1<<15))), "HTTP/2"},
	} {
		judged(t, c.name, here, c.stream, c.want)
	}
}

// FuzzInspector: what is said of a stream doesn't depend on the pieces that it comes
// in, and a denial is one.
func FuzzInspector(f *testing.F) {
	f.Add(hello(f, "evil.example", tls.VersionTLS13), uint(3))
	f.Add([]byte("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil\r\n\r\n"), uint(1))
	f.Add(append([]byte(preface), frame(frameHeaders, flagEndHeaders, fields(":authority", "evil.example"))...), uint(5))
	f.Add([]byte("CONNECT example.com:80 HTTP/1.1\r\nUpgrade: a\r\n\r\n\x16\x03\x01\x00\x00"), uint(2))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint) {
		whole := verdict("example.com:80", stream, len(stream)+1)
		split := verdict("example.com:80", stream, int(piece%64)+1)
		if (whole == nil) != (split == nil) {
			t.Errorf("in one piece %v, in pieces of %d %v", whole, piece%64+1, split)
		}
		var denied *Denied
		if whole != nil && (!errors.As(whole, &denied) || denied.Allowed || denied.Reason == "") {
			t.Errorf("got %v, want a denial that says why", whole)
		}
	})
}

func TestConnect(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	list := addresses("192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1", "192.0.2.5:1")
	d := &dialer{refuse: map[string]bool{"192.0.2.1:1": true}, hang: map[string]bool{"192.0.2.2:1": true}}
	c, err := Connect(ctx, list, d.dial)
	if err != nil || c.(*fakeConn).to != "192.0.2.3:1" {
		t.Errorf("got %v, %v, want the first that answers", c, err)
	}
	d = &dialer{refuse: map[string]bool{"192.0.2.1:1": true, "192.0.2.2:1": true, "192.0.2.3:1": true, "192.0.2.4:1": true}}
	if c, err := Connect(ctx, list, d.dial); err == nil || len(d.dialed()) != maxDials {
		t.Errorf("got %v after %d dials, want an error after %d", c, len(d.dialed()), maxDials)
	}
	if _, err := Connect(ctx, nil, d.dial); err == nil {
		t.Error("no address was no error")
	}
	late := &dialer{slow: map[string]bool{"192.0.2.1:1": true}}
	if _, err := Connect(ctx, list[:2], late.dial); err != nil {
		t.Error(err)
	}
	close(late.wait())
	for end := time.Now().Add(10 * time.Second); late.open() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are open, want the one that was given", late.open())
		}
	}
}
