package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
)

// fakeNetwork resolves by a table and remembers what it was asked for.
type fakeNetwork struct {
	names  map[string][][]string // the answers, one after another
	asked  []string
	dialed []string
	serve  func(net.Conn)
}

func (n *fakeNetwork) Lookup(_ context.Context, name string) (list []netip.Addr, err error) {
	n.asked = append(n.asked, name)
	answers := n.names[name]
	if len(answers) == 0 {
		return nil, errors.New("no such host")
	}
	for _, a := range answers[0] {
		list = append(list, netip.MustParseAddr(a))
	}
	if len(answers) > 1 {
		n.names[name] = answers[1:]
	}
	return list, nil
}

func (n *fakeNetwork) Dial(_ context.Context, to netip.AddrPort) (net.Conn, error) {
	n.dialed = append(n.dialed, to.String())
	if n.serve == nil {
		return nil, errors.New("refused")
	}
	client, server := net.Pipe()
	go n.serve(server)
	return client, nil
}

func answer(text string) func(net.Conn) {
	return func(c net.Conn) {
		go io.Copy(io.Discard, c)
		io.WriteString(c, text)
		c.Close()
	}
}

func netUnit(t *testing.T, n Network, outbound ...string) *Broker {
	s := everything()
	s.Network.Outbound = outbound
	b, err := NewBroker(BrokerConfig{Grants: s, Network: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestEgressReachesOnlyWhatIsGranted(t *testing.T) {
	n := &fakeNetwork{serve: answer("hi"), names: map[string][][]string{
		"fine.example": {{"93.184.216.34"}}, "inside.example": {{"10.0.0.1"}}, "loop.example": {{"127.0.0.1"}, {"93.184.216.34"}},
		"meta.example": {{"169.254.169.254"}}, "mapped.example": {{"::ffff:127.0.0.1"}}, "mixed.example": {{"192.168.1.1", "2606:4700::1111"}},
		"nat.example": {{"64:ff9b::7f00:1"}}, "own.example": {{"10.1.2.3"}},
	}}
	b := netUnit(t, n, "fine.example:443", "inside.example:443", "loop.example:443", "meta.example:80", "mapped.example:80",
		"mixed.example:443", "nat.example:443", "own.example:80", "10.1.2.3:80", "127.0.0.1:9", "gone.example:443")
	for _, tt := range []struct {
		endpoint, dials string
		want            error
	}{
		{"fine.example:443", "93.184.216.34:443", nil},
		{"FINE.example.:443", "93.184.216.34:443", nil},
		{"fine.example:80", "", hostcall.Denied},
		{"evil.example:443", "", hostcall.Denied},
		{"fine.example.evil.example:443", "", hostcall.Denied},
		{"93.184.216.34:443", "", hostcall.Denied},
		{"inside.example:443", "", hostcall.Denied},
		{"loop.example:443", "", hostcall.Denied},
		{"meta.example:80", "", hostcall.Denied},
		{"mapped.example:80", "", hostcall.Denied},
		{"nat.example:443", "", hostcall.Denied},
		{"mixed.example:443", "[2606:4700::1111]:443", nil},
		{"own.example:80", "10.1.2.3:80", nil},
		{"10.1.2.3:80", "10.1.2.3:80", nil},
		{"127.0.0.1:9", "127.0.0.1:9", nil},
		{"127.1:9", "", hostcall.Invalid}, {"fine．example:443", "", hostcall.Denied}, {"fine.example", "", hostcall.Invalid},
		{"https://fine.example:443", "", hostcall.Invalid}, {"user@fine.example:443", "", hostcall.Invalid},
		{"fine.example:0443", "", hostcall.Invalid}, {"*.example:443", "", hostcall.Invalid},
	} {
		n.dialed = nil
		out := make([]byte, 10)
		got, err := b.egress(t.Context(), tt.endpoint, []byte("request"), out)
		if !errors.Is(err, tt.want) || strings.Join(n.dialed, " ") != tt.dials {
			t.Errorf("%q: got %v and dialed %v, want %v and %q", tt.endpoint, err, n.dialed, tt.want, tt.dials)
		}
		if tt.want == nil && string(out[:max(got, 0)]) != "hi" {
			t.Errorf("%q: got %q, want the answer", tt.endpoint, out[:got])
		}
	}
	if slices.Contains(n.asked, "evil.example") {
		t.Error("a name that isn't granted was looked up, which tells its owner")
	}
	if _, err := b.egress(t.Context(), "gone.example:443", nil, nil); err == nil || errors.Is(err, hostcall.Denied) {
		t.Errorf("a name without an address: got %v, want a failure that isn't a denial", err)
	}
	if u := b.Usage(); u.Connections != 6 || u.ConnectionsDenied != 10 {
		t.Errorf("got %d connections and %d denied, want 6 and 10", u.Connections, u.ConnectionsDenied)
	}
}

// TestEgressLooksUpOnce: what was decided on is what is dialed, whatever the name
// says a moment later.
func TestEgressLooksUpOnce(t *testing.T) {
	n := &fakeNetwork{serve: answer("hi"), names: map[string][][]string{"re.example": {{"93.184.216.34"}, {"127.0.0.1"}}}}
	b := netUnit(t, n, "re.example:443")
	if _, err := b.egress(t.Context(), "re.example:443", nil, make([]byte, 2)); err != nil || len(n.asked) != 1 {
		t.Errorf("got %v after asking %v", err, n.asked)
	}
	if _, err := b.egress(t.Context(), "re.example:443", nil, make([]byte, 2)); !errors.Is(err, hostcall.Denied) {
		t.Errorf("after it was pointed inside: got %v, want denied", err)
	}
}

func TestEgressOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no loopback to listen on: %v", err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // answers once the request has ended, so it needs the half-close
				all, _ := io.ReadAll(c)
				fmt.Fprintf(c, "%d:%s", len(all), all)
				c.Close()
			}()
		}
	}()
	b := netUnit(t, nil, l.Addr().String())
	out := make([]byte, 100)
	n, err := b.egress(t.Context(), l.Addr().String(), []byte("hello"), out)
	if err != nil || string(out[:n]) != "5:hello" {
		t.Errorf("got %q, %v", out[:n], err)
	}
	if n, err = b.egress(t.Context(), l.Addr().String(), []byte("hello"), out[:3]); err != nil || n != 3 {
		t.Errorf("into a small buffer: got %d, %v", n, err)
	}
}

func TestEgressEndsWithTheRun(t *testing.T) {
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	b := netUnit(t, &fakeNetwork{serve: silent}, "127.0.0.1:9")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := b.egress(ctx, "127.0.0.1:9", nil, make([]byte, 1)); err == nil || time.Since(begun) > 5*time.Second {
		t.Errorf("got %v after %v, want an error at the end of the run", err, time.Since(begun))
	}
}

func TestKV(t *testing.T) {
	s := everything()
	s.KV.Prefixes = []grant.Prefix{"app/"}
	b, err := NewBroker(BrokerConfig{Grants: s})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx := t.Context()
	if _, err := b.kvGet(ctx, []byte("app/x")); err != hostcall.NotFound {
		t.Errorf("got %v, want not found", err)
	}
	value := []byte("one")
	if err := b.kvPut(ctx, []byte("app/x"), value); err != nil {
		t.Fatal(err)
	}
	value[0] = 'X'
	if v, err := b.kvGet(ctx, []byte("app/x")); string(v) != "one" || err != nil {
		t.Errorf("got %q, %v, want what was put", v, err)
	}
	for _, key := range []string{"", "app", "ap", "other/x", "APP/x"} {
		if err := b.kvPut(ctx, []byte(key), nil); err != hostcall.Denied {
			t.Errorf("%q: got %v, want denied", key, err)
		}
	}
}

func TestMemoryKVIsBounded(t *testing.T) {
	m := NewMemoryKV()
	big := make([]byte, 1<<20)
	n := 0
	for ; n < 100; n++ {
		if err := m.Put(t.Context(), []byte{byte(n)}, big); err != nil {
			if !errors.Is(err, hostcall.TooLarge) {
				t.Error(err)
			}
			break
		}
	}
	if n != 15 {
		t.Errorf("got %d MiB and their keys in, want 15", n)
	}
	if err := m.Put(t.Context(), []byte{0}, nil); err != nil {
		t.Errorf("a smaller value instead: %v", err)
	}
	if err := m.Put(t.Context(), []byte{99}, big); err != nil {
		t.Errorf("what that freed: %v", err)
	}
	small := NewMemoryKV()
	for i := range MaxKVEntries {
		if err := small.Put(t.Context(), []byte(fmt.Sprint(i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := small.Put(t.Context(), []byte("one more"), nil); !errors.Is(err, hostcall.TooLarge) {
		t.Errorf("one entry too many: got %v", err)
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	b, err := NewBroker(BrokerConfig{Grants: everything(), Log: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.logLine(t.Context(), hostcall.Warn, []byte("a\nerror forged\x1b[2J\x07 \xff \u202e \\ é \u0085"))
	want := `warn a\nerror forged\x1b[2J\a \xff \u202e \\ é \u0085` + "\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", &out, want)
	}
	quiet := everything()
	quiet.Host.Logging = false
	b2, _ := NewBroker(BrokerConfig{Grants: quiet, Log: &out})
	if err := b2.logLine(t.Context(), hostcall.Info, nil); err != hostcall.Denied {
		t.Errorf("not granted: got %v", err)
	}
}

// Of a flood the first lines are kept as they come, the last when the unit has
// ended, and between them stands how many are missing.
func TestLogFloodKeepsHeadAndTail(t *testing.T) {
	var out bytes.Buffer
	b, err := NewBroker(BrokerConfig{Grants: everything(), Log: &out})
	if err != nil {
		t.Fatal(err)
	}
	const flood = maxLogLines + maxTail + 51
	for i := range flood {
		if err := b.logLine(t.Context(), hostcall.Info, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != maxLogLines {
		t.Errorf("got %d lines while it runs, want %d", n, maxLogLines)
	}
	b.logLine(t.Context(), hostcall.Error, bytes.Repeat([]byte("x"), 1<<20))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != maxLogLines+1+maxTail || lines[maxLogLines] != "[52 lines dropped]" || b.Usage().LogDropped != 52 {
		t.Fatalf("got %d lines, %q after the first, and %d dropped", len(lines), lines[maxLogLines], b.Usage().LogDropped)
	}
	if got, want := lines[maxLogLines+1], fmt.Sprintf("info %d", maxLogLines+52); got != want {
		t.Errorf("the tail begins with %q, want %q", got, want)
	}
	if last := lines[len(lines)-1]; len(last) > maxTailLine || !strings.HasPrefix(last, "error xxx") || !strings.HasSuffix(last, "x…") {
		t.Errorf("the last line has %d bytes: %.20q", len(last), last)
	}
	if out.Len() > logBytes {
		t.Errorf("got %d bytes, want at most %d", out.Len(), logBytes)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []BrokerConfig{
		{Args: []string{"a\x00b"}}, {Env: []string{"NOVALUE"}}, {Env: []string{"=x"}}, {Env: []string{"A=1", "A=2"}},
		{Args: make([]string, maxStrings+1)}, {Args: []string{strings.Repeat("x", maxStringBytes)}},
	} {
		c.Grants = everything()
		if b, err := NewBroker(c); err == nil {
			b.Close()
			t.Errorf("%.60v: accepted", c.Args)
		}
	}
	if _, err := NewBroker(BrokerConfig{}); err == nil {
		t.Error("the zero grant set isn't valid, and was accepted")
	}
}
