package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/egress"
)

// target is where a packet goes.
func target(id stack.TransportEndpointID) netip.AddrPort {
	a, _ := netip.AddrFromSlice(id.LocalAddress.AsSlice())
	return netip.AddrPortFrom(a, id.LocalPort)
}

// handleTCP serves one connection of the unit: first the host connects, then the
// unit is told that it has, so that it sees a refusal as one.
func (s *Stack) handleTCP(r *tcp.ForwarderRequest) {
	if !s.enter() {
		r.Complete(false)
		return
	}
	defer s.flows.Done()
	s.outgoing(s.names.endpoint(target(r.ID())), func() (side, error) {
		var events waiter.Queue
		ep, err := r.CreateEndpoint(&events)
		r.Complete(err != nil)
		if err != nil {
			return nil, fmt.Errorf("the unit gave up: %v", err)
		}
		return inside{gonet.NewTCPConn(&events, ep), ep, s.link.window}, nil
	}, func() { r.Complete(true) })
}

// side is the unit's side of a connection.
type side interface {
	net.Conn
	// reset ends it as a failure.
	reset()
	// size sets its buffers.
	size(n int)
	// settle waits until the unit has all that was sent to it, or never will.
	settle(ctx context.Context)
}

// outgoing serves a connection to an endpoint, once the host has one.
func (s *Stack) outgoing(endpoint string, accept func() (side, error), refuse func()) {
	sent := s.sender()
	defer sent()
	f := Flow{Protocol: "tcp", Endpoint: endpoint}
	if !take(s.connections) {
		s.crowded(f, cap(s.connections))
		refuse()
		return
	}
	defer func() { <-s.connections }()
	conn := s.connect(&f, s.config.Network.Dial)
	if conn == nil {
		refuse()
		return
	}
	unit, err := accept()
	if err != nil {
		f.Err = errors.Join(err, conn.Close())
		s.ledger.end(f)
		return
	}
	s.relay(f, unit, conn, sent)
}

// sender counts a flow that may still send; the function it gives ends that, once.
func (s *Stack) sender() func() {
	var over bool
	return func() {
		if !over {
			over = true
			s.sending.add(-1)
		}
	}
}

func take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// crowded denies what is over a limit.
func (s *Stack) crowded(f Flow, limit int) {
	f.Decision = grant.Decision{Reason: fmt.Sprintf("the limit of %d at once was reached", limit)}
	s.ledger.deny(f)
}

// connect decides on a flow's endpoint and dials it. Where it gives nothing, the
// flow is recorded.
func (s *Stack) connect(f *Flow, dial egress.Dial) net.Conn {
	f.Decision = s.config.Rules.MayEgress(f.Endpoint)
	addrs, err := egress.Addresses(s.ctx, s.config.Rules, f.Endpoint, s.config.Network.Lookup)
	var conn net.Conn
	if err == nil {
		conn, err = egress.Connect(s.ctx, addrs, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			c, err := dial(ctx, to)
			if err != nil {
				return nil, err
			}
			return dialed{c, to}, nil
		})
	}
	if err == nil {
		d := conn.(dialed)
		f.Address = d.to
		s.ledger.connections.Add(1)
		return d.Conn
	}
	s.broken(f, err)
	return nil
}

// dialed is a connection with what was dialled for it.
type dialed struct {
	net.Conn
	to netip.AddrPort
}

// broken records a flow that came to nothing.
func (s *Stack) broken(f *Flow, err error) {
	var denied *egress.Denied
	if !errors.As(err, &denied) {
		f.Err = err
		s.ledger.end(*f)
		return
	}
	f.Decision = denied.Decision
	if ep, err := grant.ParseEndpoint(f.Endpoint); err == nil && (rangeV4.Contains(ep.Addr) || rangeV6.Contains(ep.Addr)) {
		f.Grant = "" // an address of the unit's own network leads nowhere outside
	}
	s.ledger.deny(*f)
}

// inside is a connection that came over the device.
type inside struct {
	*gonet.TCPConn
	ep     tcpip.Endpoint
	window int
}

func (c inside) reset() { c.ep.Abort() }

func (c inside) size(n int) {
	c.ep.SocketOptions().SetReceiveBufferSize(int64(min(n, c.window)), true)
	c.ep.SocketOptions().SetSendBufferSize(int64(n), true)
}

// settle holds the connection's place among those that are open: a unit that doesn't
// read can't have the stack keep what it doesn't want.
func (c inside) settle(ctx context.Context) {
	for pause := time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 100*time.Millisecond) {
		switch tcp.EndpointState(c.ep.State()) {
		case tcp.StateFinWait2, tcp.StateTimeWait, tcp.StateClose, tcp.StateError:
			return // it has acknowledged the end
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
