package netstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

const mega = 1 << 20

// TestLargeTransfersBothWays at once, intact, for each kind of device.
func TestLargeTransfersBothWays(t *testing.T) {
	const size = 24 * mega
	want := digest(t, &pattern{size: size})
	for _, who := range everyone {
		t.Run(who.name, func(t *testing.T) {
			if !who.valid() {
				t.Skip("needs root")
			}
			got := make(chan string, 1)
			server := serve(t, func(c net.Conn) {
				sent := make(chan error, 1)
				go func() {
					_, err := io.Copy(struct{ io.Writer }{c}, &pattern{size: size})
					sent <- err
				}()
				sum := digest(t, c)
				if err := <-sent; err != nil {
					sum += err.Error()
				}
				got <- sum
			})
			w := &world{names: map[string][]string{"example.com": {"93.184.216.34"}}, servers: map[string]string{"93.184.216.34:7": server}}
			u := startAs(t, who, Config{Network: w, Outbound: []string{"example.com:7"}})
			u.gets(want, "upload", "example.com:7", fmt.Sprint(size))
			if sum := <-got; sum != want {
				t.Errorf("the server got %s, want %s", sum, want)
			}
			eventually(t, "the connection is over", func() bool { return len(u.ended()) == 1 })
			if f := u.ended()[0]; f.Sent != size || f.Received != size || f.Err != nil || f.Address.String() != "93.184.216.34:7" {
				t.Errorf("got %+v, want %d bytes each way", f, size)
			}
			if c := u.Counts(); c.Sent != size || c.Received != size || c.Connections != 1 {
				t.Errorf("got %+v, want one connection of %d bytes each way", c, size)
			}
		})
	}
}

func digest(t testing.TB, r io.Reader) string {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", n, hex.EncodeToString(sum.Sum(nil)))
}

// ended gives the flows that were allowed and are over.
func (u *unit) ended() (list []Flow) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range u.flows {
		if f.Allowed {
			list = append(list, f)
		}
	}
	return list
}

func TestHalfClose(t *testing.T) {
	heard := make(chan string, 1)
	server := serve(t, func(c net.Conn) {
		io.WriteString(c, "the end")
		c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(c)
		heard <- string(b)
	})
	w := &world{servers: map[string]string{"192.0.2.7:7": server}}
	u := start(t, w, "192.0.2.7:7")
	u.gets("the end", "half", "192.0.2.7:7")
	if got := <-heard; got != "after the end" {
		t.Errorf("the server heard %q after it had closed its way, want all of it", got)
	}
}

// TestManyConnections at once, through limits that fit them and ones that don't.
func TestManyConnections(t *testing.T) {
	w := &world{servers: map[string]string{"192.0.2.7:7": serve(t, echo)}}
	u := start(t, w, "192.0.2.7:7")
	u.gets("400 answered", "many", "192.0.2.7:7", "400")
	eventually(t, "all is over", func() bool { return len(u.ended()) == 400 })

	few := startAs(t, everyone[1], Config{Network: w, Outbound: []string{"192.0.2.7:7"}, Limits: Limits{Connections: 10}})
	few.gets("10 open", "hold", "192.0.2.7:7", "15")
	few.denied("tcp", "192.0.2.7:7", "limit of 10", "")
	if got := few.Counts(); got.Connections != 10 || got.Denied != 5 {
		t.Errorf("got %+v, want 10 connections and 5 denials", got)
	}
	if _, err := New(nil, Config{Rules: enforcer(t, nil, false), Limits: Limits{Connections: 10, Memory: 100}}); err == nil || !strings.Contains(err.Error(), "memory of 100 bytes") {
		t.Errorf("got %v, want limits refused that can't hold together", err)
	}
}

// TestFloods: denials and datagrams without end cost a bounded amount, and the rest
// works on.
func TestFloods(t *testing.T) {
	w := &world{servers: map[string]string{"192.0.2.7:7": serve(t, echo), "192.0.2.7:8": udpEcho(t)}}
	u := startAs(t, everyone[1], Config{Network: w, Outbound: []string{"192.0.2.7:7", "192.0.2.7:8"}, Limits: Limits{Datagrams: 20}})
	u.gets("0 open", "hold", "192.0.2.9:7", "3000")
	u.gets("sent", "udps", "192.0.2.7:8", "300", "x")
	u.gets("sent", "udps", "192.0.2.9:8", "3000", "x")
	u.gets("sent", "udps", "198.18.0.1:53", "3000", "no question")
	u.gets("hello", "say", "tcp", "192.0.2.7:7", "hello")
	u.mu.Lock()
	n := len(u.flows)
	u.mu.Unlock()
	if n > 10 {
		t.Errorf("got %d records for equal denials, want one each", n)
	}
	if got := u.Counts(); got.Denied < 3000+280 {
		t.Errorf("got %+v, want every denial counted", got)
	}
	u.denied("udp", "192.0.2.7:8", "limit of 20", "")
	u.stop()
	sum := int64(0)
	for _, f := range u.flows {
		if !f.Allowed {
			sum += f.Times
		}
	}
	if got := u.Counts().Denied; sum != got {
		t.Errorf("the records add up to %d denials, want %d", sum, got)
	}
}

// TestAttemptsAreBounded: who doesn't answer holds up a bounded number of connects,
// and what else is open goes on.
func TestAttemptsAreBounded(t *testing.T) {
	w := &world{servers: map[string]string{"192.0.2.7:7": serve(t, echo)}, hang: true}
	u := startAs(t, everyone[1], Config{Network: w, Outbound: []string{"192.0.2.7:7"}, Limits: Limits{Attempts: 8}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = u.out.Encode(order{[]string{"many"}, []string{"192.0.2.7:7", "64"}})
	}()
	eventually(t, "as many attempts as there may be", func() bool { return len(w.reached()) == 8 })
	time.Sleep(50 * time.Millisecond)
	if n := len(w.reached()); n != 8 {
		t.Errorf("got %d attempts at once, want 8", n)
	}
	<-done
	u.Close() // which doesn't wait for them
}

// TestUnreadDataIsBounded: a unit that doesn't read what it is sent has no more
// connections than one that does.
func TestUnreadDataIsBounded(t *testing.T) {
	server := serve(t, func(c net.Conn) { io.Copy(struct{ io.Writer }{c}, &pattern{size: mega / 2}) })
	u := startAs(t, everyone[1], Config{Network: &world{servers: map[string]string{"192.0.2.7:7": server}}, Outbound: []string{"192.0.2.7:7"}, Limits: Limits{Connections: 10}})
	u.gets("10 open", "leave", "192.0.2.7:7", "30")
	if got := u.Counts(); got.Connections != 10 || got.Denied != 20 {
		t.Errorf("got %+v, want 10 connections and 20 denials", got)
	}
}

// TestEndsAreForgotten: connections that are over take no memory for long.
func TestEndsAreForgotten(t *testing.T) {
	server := serve(t, func(c net.Conn) { io.WriteString(c, "bye") })
	u := start(t, &world{servers: map[string]string{"192.0.2.7:7": server}}, "192.0.2.7:7")
	for range 5 {
		u.gets("100 open", "hold", "192.0.2.7:7", "100")
	}
	u.end()
	eventually(t, "nothing is remembered", func() bool { return len(u.stack.RegisteredEndpoints())+len(u.stack.CleanupEndpoints()) <= 4 })
}

func udpEcho(t testing.TB) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 65536)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			c.WriteTo(append([]byte("you said "), b[:n]...), from)
		}
	}()
	return c.LocalAddr().String()
}

func TestDatagrams(t *testing.T) {
	w := &world{names: map[string][]string{"example.com": {"93.184.216.34"}}, servers: map[string]string{"93.184.216.34:53": udpEcho(t)}}
	for _, who := range everyone {
		t.Run(who.name, func(t *testing.T) {
			if !who.valid() {
				t.Skip("needs root")
			}
			u := startAs(t, who, Config{Network: w, Outbound: []string{"example.com:53"}})
			u.gets("you said hello", "say", "udp", "example.com:53", "hello")
			long := strings.Repeat("long ", 8000)
			u.gets("you said "+long, "say", "udp", "example.com:53", long)
			u.fails("refused", "say", "udp", "example.com:54", "hello")
			if got := u.Counts(); got.Connections != 2 || got.Sent != int64(5+len(long)) || got.Received != got.Sent+18 {
				t.Errorf("got %+v, want two exchanges", got)
			}
		})
	}
}

// TestDrain: what a unit sent before it ended arrives.
func TestDrain(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server := serve(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	w := &world{servers: map[string]string{"192.0.2.7:8": c.LocalAddr().String(), "192.0.2.7:7": server}}
	for range 10 {
		u := start(t, w, "192.0.2.7:7", "192.0.2.7:8")
		u.gets("1 open", "hold", "192.0.2.7:7", "1")
		u.gets("", "shout", "192.0.2.7:8", "one", "two", "three")
		u.end()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if err := u.Drain(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		u.stop()
		b := make([]byte, 100)
		for _, want := range []string{"one", "two", "three"} {
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			n, _, err := c.ReadFrom(b)
			if err != nil || string(b[:n]) != want {
				t.Fatalf("got %q, %v, want %q", b[:n], err, want)
			}
		}
	}
}

func TestInbound(t *testing.T) {
	for _, who := range everyone {
		t.Run(who.name, func(t *testing.T) {
			if !who.valid() {
				t.Skip("needs root")
			}
			u := startAs(t, who, Config{Rules: enforcer(t, nil, true)})
			u.gets("", "listen", "0.0.0.0:80")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if err := u.Listen(l, 80); err != nil {
				t.Fatal(err)
			}
			if got := ask(l.Addr().String(), "there"); got != "hello 198.18.0.1, there" {
				t.Errorf("got %q, want the unit's answer", got)
			}
			other, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if err := u.Listen(other, 81); err != nil {
				t.Fatal(err)
			}
			if got := ask(other.Addr().String(), "there"); !strings.Contains(got, "reset") {
				t.Errorf("got %q from a port where nobody listens, want a reset", got)
			}
		})
	}
	u := start(t, town(t), "example.com:80")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Listen(l, 80); err == nil || !strings.Contains(err.Error(), "network.inbound") {
		t.Errorf("got %v, want it denied", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("what was denied listens")
	}
	u.denied("listen", "198.18.0.2:80", "inbound", "network.inbound: true")
}

func ask(to, text string) string {
	c, err := net.Dial("tcp", to)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	io.WriteString(c, text)
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestCloseLeavesNothing: with connections open both ways and others hanging.
func TestCloseLeavesNothing(t *testing.T) {
	w := &world{servers: map[string]string{"192.0.2.7:7": serve(t, echo), "192.0.2.7:8": udpEcho(t)}}
	settle := func() (int, int) {
		runtime.GC()
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(fds)
	}
	once := func() {
		u := start(t, w, "192.0.2.7:7", "192.0.2.7:8", "127.0.0.1:9")
		u.gets("8 open", "hold", "192.0.2.7:7", "8")
		u.gets("you said", "say", "udp", "192.0.2.7:8", "x")
		u.stop()
		u.stop() // again
	}
	once()
	goroutines, fds := settle()
	for range 5 {
		once()
	}
	eventually(t, "what served is gone", func() bool {
		g, f := settle()
		return g <= goroutines && f <= fds
	})
	if t.Failed() {
		b := make([]byte, mega)
		t.Logf("%s", b[:runtime.Stack(b, true)])
	}
}
