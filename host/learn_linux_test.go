package host

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/unit"
)

// oneServer is a network in which every address leads to one server.
type oneServer struct{ at string }

func (n oneServer) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil
}
func (n oneServer) Dial(context.Context, netip.AddrPort) (net.Conn, error) {
	return net.Dial("tcp", n.at)
}
func (n oneServer) DialUDP(context.Context, netip.AddrPort) (net.Conn, error) {
	return nil, net.ErrClosed
}

// TestLearn: names and addresses that a trusted unit connects to are told as a grant
// would name them; a port of its own loopback isn't told, one that isn't there is.
func TestLearn(t *testing.T) {
	if err := NativeS1().(Unavailable).Unavailable(); err != nil {
		t.Skip("no partition can be built here: ", err)
	}
	image, err := HostProgram("/bin/bash")
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	const script = `
say() { exec 3<>/dev/tcp/$1 || { echo refused; return; }; echo "$2" >&3; read x <&3; echo "got $x"; exec 3>&-; }
say db.internal/5432 one; say 192.0.2.7/80 two; say 127.0.0.1/7 three; (exec true); ls / | sort >/dev/null`
	var out strings.Builder
	b, err := NewBroker(BrokerConfig{Grants: grant.Empty(grant.Compute{EnergyBudgetUJ: 1, CPUTimeMS: 1, MemoryBytes: 128 << 20}),
		Args: []string{"/bin/bash", "-c", script}, Stdout: &out, Stderr: &out, Network: oneServer{echoing(t).String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	needs, exit, err := Learn(t.Context(), Job{Unit: unit.Unit{Entrypoint: []string{"/bin/bash"}}, Native: image, Broker: b, Limits: Limits{Wall: time.Minute, Memory: 128 << 20}})
	if err != nil || exit.Code == nil || *exit.Code != 0 {
		t.Fatalf("%v, %+v: %s", err, exit, &out)
	}
	if !strings.Contains(out.String(), "got one") || !strings.Contains(out.String(), "got two") {
		t.Errorf("got %s", &out)
	}
	if want := []string{"10.1.2.3:5432", "10.1.2.3:80", "192.0.2.7:80", "db.internal:5432"}; !subset(needs.Endpoints, want) || !slices.Contains(needs.Endpoints, "db.internal:5432") {
		t.Errorf("endpoints: got %v, want of %v", needs.Endpoints, want)
	}
	if !slices.Equal(needs.Loopback, []string{"127.0.0.1:7"}) || len(needs.Names) != 0 {
		t.Errorf("got loopback %v, names %v", needs.Loopback, needs.Names)
	}
	var roles []string
	for _, p := range needs.Programs {
		roles = append(roles, fmt.Sprint(p.Role, " ", p.Path))
		if p.ID.IsZero() {
			t.Errorf("%s has no content address", p.Path)
		}
	}
	if all := strings.Join(roles, "\n"); !strings.Contains(all, "program /usr/bin/sort") || !strings.Contains(all, "loader ") || needs.Processes < 1 {
		t.Errorf("got %d at once, %s", needs.Processes, all)
	}
	// What isn't trusted is never watched instead of held.
	if _, err := S3().Start(t.Context(), Job{Native: image, Broker: b, Learner: newLearner()}); err == nil {
		t.Error("an untrusted unit was let loose")
	}
}

func subset(got, of []string) bool {
	return !slices.ContainsFunc(got, func(s string) bool { return !slices.Contains(of, s) })
}
