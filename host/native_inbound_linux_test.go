package host

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/unit"
)

// unitVariable has the test binary be a native unit.
const unitVariable = "JOULEBOX_HOST_UNIT"

// units are what it can be.
var units = map[string]func() error{"serve": serveOne, "talk": talkToItself, "fork": forkAlone}

func beUnit(name string) {
	if err := units[name](); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveOne answers one connection to port 80.
func serveOne() error {
	l, err := net.Listen("tcp", ":80")
	if err != nil {
		return err
	}
	fmt.Println("serving")
	c, err := l.Accept()
	if err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil {
		_, err = fmt.Fprint(c, "from the unit: ", line)
	}
	fmt.Println("from", strings.Split(c.RemoteAddr().String(), ":")[0])
	return err
}

// talkToItself is what tests of programs that serve do: sockets of the loopback, of
// both families, by name, and of datagrams.
func talkToItself() error {
	for _, at := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			return err
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		s, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintln(s, "hello")
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "hello\n" {
			return fmt.Errorf("%s: got %q, %v", at, line, err)
		}
	}
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := p.WriteTo([]byte("x"), p.LocalAddr()); err != nil {
		return err
	}
	_, _, err = p.ReadFrom(make([]byte, 1))
	fmt.Println("talked")
	return err
}

// lines takes what a unit says, as it says it.
type lines struct{ said chan string }

func (l lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l.said <- strings.TrimSpace(line)
	}
	return len(p), nil
}

// self starts the test binary as a unit.
func self(t *testing.T, name string, c BrokerConfig) (Run, *Broker, lines) {
	t.Helper()
	x := S3()
	if err := x.(Unavailable).Unavailable(); err != nil {
		t.Skip("no partition can be built here: ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	image, err := HostProgram(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { image.Close() })
	network, process := c.Grants.Network, c.Grants.Process
	c.Grants = grant.Empty(grant.Compute{EnergyBudgetUJ: 1e9, CPUTimeMS: 30_000, MemoryBytes: 256 << 20})
	c.Grants.Network, c.Grants.Process = network, process
	out := lines{make(chan string, 64)}
	c.Args, c.Env, c.Stdout, c.Stderr = []string{program}, append(c.Env, unitVariable+"="+name), out, out
	b, err := NewBroker(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	run, err := x.Start(ctx, Job{Unit: unit.Unit{Entrypoint: c.Args}, Native: image, Broker: b, Limits: Limits{Wall: 30 * time.Second, Memory: 256 << 20}})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _, _ = run.Wait() })
	return run, b, out
}

// TestNativeInbound: a listener of the host leads to a port of the unit if that is
// granted, for as long as it runs.
func TestNativeInbound(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run, b, said := self(t, "serve", BrokerConfig{Grants: grant.Set{Network: grant.Network{Inbound: true}}, Inbound: []Inbound{{l, 80}}})
	if line := <-said.said; line != "serving" {
		t.Fatalf("got %q", line)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c, "hello")
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "from the unit: hello\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if line := <-said.said; line != "from 198.18.0.1" {
		t.Errorf("got %q", line)
	}
	if e, err := run.Wait(); err != nil || e.Code == nil || *e.Code != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
	if u := b.Usage(); u.Connections != 1 || u.ConnectionsDenied != 0 {
		t.Errorf("got %+v", u)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener outlives the unit")
	}
}

// TestNativeInboundDenied: a listener without a grant leads nowhere, and the grant is
// named.
func TestNativeInboundDenied(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, b, said := self(t, "serve", BrokerConfig{Inbound: []Inbound{{l, 80}}})
	for line := range said.said {
		if strings.HasPrefix(line, "serving") || strings.HasPrefix(line, "failed") {
			break
		}
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("it was reached")
	}
	if d := b.Denials(); len(d) != 1 || d[0].Grant != "network.inbound: true" || b.Usage().ConnectionsDenied != 1 {
		t.Errorf("got %+v, %+v", d, b.Usage())
	}
}

// TestNativeLoopback: a unit's own loopback takes no grant.
func TestNativeLoopback(t *testing.T) {
	for _, c := range []grant.Network{{}, {Outbound: []string{"api.example:443"}}} {
		run, b, said := self(t, "talk", BrokerConfig{Grants: grant.Set{Network: c}})
		e, err := run.Wait()
		if line := <-said.said; err != nil || line != "talked" || e.Code == nil || *e.Code != 0 {
			t.Errorf("got %q, %+v, %v", line, e, err)
		}
		if u := b.Usage(); u.Connections+u.ConnectionsDenied != 0 {
			t.Errorf("got %+v", u)
		}
	}
}
