package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/unit"
)

// nativeTrial is one native run for a test, and what came of it.
type nativeTrial struct {
	grants grant.Set
	config BrokerConfig
	limits Limits

	exit    Exit
	out     bytes.Buffer
	usage   Usage
	stdin   joulebox.ID // of what it was given
	denials []Denial
	probing []string
}

// bash runs a script on the host's bash at S3.
func (n *nativeTrial) bash(t *testing.T, ctx context.Context, script string) {
	t.Helper()
	x := S3()
	if err := x.(Unavailable).Unavailable(); err != nil {
		t.Skip("no partition can be built here: ", err)
	}
	image, err := HostProgram("/bin/bash")
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if n.grants.Compute.MemoryBytes == 0 {
		process, network, storage := n.grants.Process, n.grants.Network, n.grants.Storage
		n.grants = grant.Empty(grant.Compute{EnergyBudgetUJ: 1e9, CPUTimeMS: 30_000, MemoryBytes: 128 << 20})
		n.grants.Process, n.grants.Network, n.grants.Storage = process, network, storage
	}
	if n.limits == (Limits{}) {
		n.limits = Limits{CPU: time.Minute, Wall: 30 * time.Second, Memory: 128 << 20}
	}
	n.config.Grants, n.config.Args = n.grants, []string{"/bin/bash", "-c", script}
	n.config.Stdout, n.config.Stderr = &n.out, &n.out
	b, err := NewBroker(n.config)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	run, err := x.Start(ctx, Job{Unit: unit.Unit{Entrypoint: n.config.Args}, Native: image, Broker: b, Limits: n.limits})
	if err != nil {
		t.Fatal(err)
	}
	if n.exit, err = run.Wait(); err != nil {
		t.Fatalf("%v; it said %s", err, &n.out)
	}
	n.usage, n.denials, n.probing = b.Usage(), b.Denials(), b.Probing()
	n.stdin, _, _ = b.Digests()
}

// echoing answers each connection with what it sends.
func echoing(t *testing.T) net.Addr {
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
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr()
}

func TestNativeNetwork(t *testing.T) {
	granted, other := echoing(t), echoing(t)
	// The host's loopback is reached where it is granted; all else of it is the unit's
	// own, where nobody listens. Other addresses are seen, and denied.
	script := `
say() { exec 3<>/dev/tcp/$1 || { echo refused; return; }; echo "$2" >&3; read x <&3; echo "got $x"; exec 3>&-; }
say 127.0.0.1/%d one; say 127.0.0.1/%d two; say 192.0.2.7/80 three`
	script = fmt.Sprintf(script, granted.(*net.TCPAddr).Port, other.(*net.TCPAddr).Port)
	n := &nativeTrial{grants: grant.Set{Network: grant.Network{Outbound: []string{granted.String()}}}}
	n.bash(t, t.Context(), script)
	if !strings.Contains(n.out.String(), "got one") || strings.Count(n.out.String(), "got") != 1 || n.usage.Connections != 1 || n.usage.ConnectionsDenied != 1 {
		t.Errorf("got %+v, %s", n.usage, &n.out)
	}
	if len(n.denials) != 1 || n.denials[0].Grant != "network.outbound: 192.0.2.7:80" {
		t.Errorf("denials: %+v", n.denials)
	}
	// Without a grant there is no network at all, and what is tried is told all the same.
	n = &nativeTrial{}
	n.bash(t, t.Context(), script+"; say api.example/443 four; say ::1/9 five; say 2001:db8::1/80 six")
	if strings.Contains(n.out.String(), "got") || n.usage.Connections != 0 || n.usage.ConnectionsDenied < 3 {
		t.Errorf("got %+v, %s", n.usage, &n.out)
	}
	var grants []string
	for _, d := range n.denials {
		grants = append(grants, d.Grant)
	}
	for _, want := range []string{"network.outbound: 192.0.2.7:80", "network.outbound: [2001:db8::1]:80", "network.outbound: api.example:"} {
		if !slices.ContainsFunc(grants, func(g string) bool { return strings.HasPrefix(g, want) }) {
			t.Errorf("got %q, want %s", grants, want)
		}
	}
	if strings.Contains(strings.Join(grants, " "), "127.0.0.1") {
		t.Errorf("the unit's own loopback was denied: %q", grants)
	}
}

func TestNativeEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	n := &nativeTrial{}
	n.bash(t, ctx, "while :; do :; done")
	if n.exit.Outcome != joulebox.Failed || n.exit.Cause != CauseCancelled {
		t.Errorf("cancelled: %+v", n.exit)
	}
	for _, c := range []struct {
		name, script string
		limits       Limits
		want         joulebox.Outcome
	}{
		{"wall", "read x < <(:) ; while :; do :; done & wait", Limits{CPU: time.Minute, Wall: 300 * time.Millisecond, Memory: 64 << 20}, joulebox.Terminated(joulebox.BreachTime)},
		{"energy", "while :; do :; done", Limits{CPU: 100 * time.Millisecond, Wall: time.Minute, Memory: 64 << 20}, joulebox.Terminated(joulebox.BreachEnergy)},
		{"memory", "x=a; while :; do x=$x$x; done", Limits{CPU: time.Minute, Wall: time.Minute, Memory: 32 << 20}, joulebox.Terminated(joulebox.BreachMemory)},
	} {
		n := &nativeTrial{limits: c.limits}
		if n.bash(t, t.Context(), c.script); n.exit.Outcome != c.want {
			t.Errorf("%s: got %+v", c.name, n.exit)
		}
	}
}

// TestNativeInput: the record's address of standard input is that of what the unit
// took, and what it left is left.
func TestNativeInput(t *testing.T) {
	in := bytes.NewReader([]byte("first line\nsecond line\n"))
	n := &nativeTrial{config: BrokerConfig{Stdin: in}}
	n.bash(t, t.Context(), "read -r x; echo \"$x\"")
	if n.out.String() != "first line\n" || n.stdin != joulebox.Sum([]byte("first line\n")) {
		t.Errorf("got %q, of an input %v", &n.out, n.stdin)
	}
	if left, err := io.ReadAll(in); err != nil || string(left) != "second line\n" {
		t.Errorf("left: %q (%v)", left, err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	n = &nativeTrial{config: BrokerConfig{Stdin: bytes.NewReader(large)}, grants: grant.Set{Process: grant.Process{Exec: true, Programs: []string{"/usr/bin/**", "/bin/**"}, MaxProcesses: 8}}}
	n.bash(t, t.Context(), "cat")
	if !bytes.Equal(n.out.Bytes(), large) || n.stdin != joulebox.Sum(large) {
		t.Errorf("got %d bytes of %d", n.out.Len(), len(large))
	}
	if n.usage.Execs != 1 {
		t.Errorf("got %+v", n.usage)
	}
}
