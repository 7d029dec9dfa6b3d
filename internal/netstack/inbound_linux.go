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
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/joulebox/joulebox/internal/egress"
)

// Listen brings connections that a listener of the host accepts to a port of the
// unit, if inbound connections are granted (§5.3). It takes the listener over and
// serves it until the stack is closed. The unit sees them come from its resolver's
// address.
func (s *Stack) Listen(l net.Listener, port uint16) error {
	endpoint := netip.AddrPortFrom(unitV4, port).String()
	if d := s.config.Rules.MayListen(); !d.Allowed {
		s.ledger.deny(Flow{Protocol: "listen", Endpoint: endpoint, Decision: d})
		return errors.Join(&egress.Denied{Decision: d}, l.Close())
	}
	if !s.begin(func() { s.accept(l, port, endpoint) }, l) {
		return errors.Join(errors.New("netstack: closed"), l.Close())
	}
	return nil
}

func (s *Stack) accept(l net.Listener, port uint16, endpoint string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !s.enter() {
			_ = c.Close()
			return
		}
		go func() {
			defer s.flows.Done()
			s.incoming(c, port, endpoint)
		}()
	}
}

// incoming serves one connection from outside.
func (s *Stack) incoming(c net.Conn, port uint16, endpoint string) {
	sent := s.sender()
	defer sent()
	f := Flow{Protocol: "listen", Endpoint: endpoint, Decision: s.config.Rules.MayListen()}
	if !take(s.connections) {
		s.crowded(f, cap(s.connections))
		resetHost(c)
		return
	}
	defer func() { <-s.connections }()
	unit, err := s.reach(port)
	if err != nil {
		resetHost(c)
		f.Err = err
		s.ledger.end(f)
		return
	}
	f.Address = remote(c)
	s.ledger.connections.Add(1)
	s.relay(f, unit, c, sent)
}

func remote(c net.Conn) netip.AddrPort {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

// reach connects to a port of the unit.
func (s *Stack) reach(port uint16) (side, error) {
	var events waiter.Queue
	ep, terr := s.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &events)
	if terr != nil {
		return nil, errors.New(terr.String())
	}
	ctx, cancel := context.WithTimeout(s.ctx, reachTime)
	defer cancel()
	if err := connect(ctx, ep, &events, port); err != nil {
		ep.Abort()
		return nil, fmt.Errorf("port %d of the unit: %w", port, err)
	}
	return inside{gonet.NewTCPConn(&events, ep), ep, s.link.window}, nil
}

// reachTime is how long a unit has to answer.
const reachTime = 10 * time.Second

func connect(ctx context.Context, ep tcpip.Endpoint, events *waiter.Queue, port uint16) error {
	entry, ready := waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventErr | waiter.EventHUp)
	events.EventRegister(&entry)
	defer events.EventUnregister(&entry)
	if err := ep.Bind(fullAddress(resolverV4, 0)); err != nil {
		return errors.New(err.String())
	}
	err := ep.Connect(fullAddress(unitV4, port))
	if _, started := err.(*tcpip.ErrConnectStarted); started {
		select {
		case <-ready:
			err = ep.LastError()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return errors.New(err.String())
	}
	return nil
}

func fullAddress(a netip.Addr, port uint16) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFromSlice(a.AsSlice()), Port: port}
}
