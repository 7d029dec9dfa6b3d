package netstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/joulebox/joulebox/internal/egress"
)

// Stack serves one unit's network, until it is closed.
type Stack struct {
	config Config
	names  *names
	ledger *ledger
	link   *link
	stack  *stack.Stack

	ctx    context.Context
	cancel context.CancelFunc
	reader chan struct{} // closed when nothing is read from the device any more
	mu     sync.Mutex
	closed bool
	flows  sync.WaitGroup

	budget budget

	connections, datagrams chan struct{} // one element for each that is open
	sending                group         // connections whose unit may still send
	exchanges              sync.Map      // of *exchange
}

const (
	nic = 1
	// overTime is how long the stack remembers a connection that is over.
	overTime = 500 * time.Millisecond
)

// New serves the network that Setup made, and takes its files over.
func New(files []*os.File, c Config) (*Stack, error) {
	s, err := newStack(files, c)
	if err != nil {
		return nil, fmt.Errorf("netstack: %w", err)
	}
	return s, nil
}

func newStack(files []*os.File, c Config) (s *Stack, err error) {
	defer func() {
		for _, f := range files {
			_ = f.Close() // copies serve
		}
	}()
	if s, err = prepare(c); err != nil {
		return nil, err
	}
	loopback, err := s.loopback(files)
	if err != nil {
		return nil, err
	}
	if s.link, err = newLink(files[0]); err != nil {
		return nil, errors.Join(err, loopback.close())
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.start(); err != nil {
		s.cancel()
		s.stack.Destroy()
		return nil, errors.Join(err, loopback.close(), s.link.close())
	}
	for at, l := range loopback {
		s.begin(func() { s.serveLoopback(l, at) }, l)
	}
	go func() {
		defer close(s.reader)
		_ = s.link.serve() // it ends with the device
	}()
	return s, nil
}

// prepare makes what needs no device.
func prepare(c Config) (*Stack, error) {
	if c.Rules == nil {
		return nil, errors.New("no rules: a network that nobody decides about is none")
	}
	if c.Network == nil {
		c.Network = egress.Host{}
	}
	c.Limits = c.Limits.filled()
	budget, err := newBudget(c.Limits)
	if err != nil {
		return nil, err
	}
	names, err := newNames(c.Outbound)
	if err != nil {
		return nil, err
	}
	names.open = c.Open
	return &Stack{config: c, names: names, budget: budget, ledger: newLedger(c.Record), reader: make(chan struct{}),
		connections: make(chan struct{}, c.Limits.Connections), datagrams: make(chan struct{}, c.Limits.Datagrams)}, nil
}

// start makes the stack, its addresses and its handlers.
func (s *Stack) start() error {
	s.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	if err := s.tune(); err != nil {
		return err
	}
	// Every address is the stack's, so that every connection comes to its handlers.
	for _, err := range []tcpip.Error{
		s.stack.CreateNIC(nic, s.link),
		s.stack.SetPromiscuousMode(nic, true),
		s.stack.SetSpoofing(nic, true),
		s.address(ipv4.ProtocolNumber, resolverV4),
		s.address(ipv6.ProtocolNumber, resolverV6),
	} {
		if err != nil {
			return errors.New(err.String())
		}
	}
	s.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	s.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, tcp.NewForwarder(s.stack, s.link.window, s.config.Limits.Attempts, s.handleTCP).HandlePacket)
	s.stack.SetTransportProtocolHandler(udp.ProtocolNumber, udp.NewForwarder(s.stack, s.handleUDP).HandlePacket)
	return s.startResolver()
}

func (s *Stack) address(protocol tcpip.NetworkProtocolNumber, a netip.Addr) tcpip.Error {
	return s.stack.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol: protocol, AddressWithPrefix: tcpip.AddrFromSlice(a.AsSlice()).WithPrefix(),
	}, stack.AddressProperties{})
}

// tune makes the stack fit a link that loses nothing and is as fast as memory.
func (s *Stack) tune() error {
	sack, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(false)
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: smallBuffer, Default: largeBuffer, Max: largeBuffer}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: smallBuffer, Default: largeBuffer, Max: largeBuffer}
	// What is over is forgotten soon: nothing is late on this link, and a unit could
	// have the stack remember without end.
	wait, linger := tcpip.TCPTimeWaitTimeoutOption(overTime), tcpip.TCPLingerTimeoutOption(overTime)
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &receive, &send, &wait, &linger} {
		if err := s.stack.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("%T: %v", o, err)
		}
	}
	return nil
}

// Counts are the sums so far; those of an open connection are in as they grow.
func (s *Stack) Counts() Counts { return s.ledger.sums() }

// Drain waits until all that the unit has sent is handed to the host's kernel, if
// its processes are gone; as long as one isn't, it may wait for ctx to end.
func (s *Stack) Drain(ctx context.Context) error {
	for quiet := false; ; {
		if err := s.sending.wait(ctx); err != nil {
			return err
		}
		waiting, datagrams := s.waiting()
		if !waiting && (quiet || !datagrams) {
			return nil
		}
		// A datagram that was just taken from its port is seen by neither look, so
		// there are two.
		quiet = !waiting
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// waiting reports whether something that the unit has sent is still to be read, and
// whether there are ports for datagrams.
func (s *Stack) waiting() (found, datagrams bool) {
	s.exchanges.Range(func(x, _ any) bool {
		datagrams = true
		found = found || x.(*exchange).busy()
		return true
	})
	return found || s.link.waiting() || s.sending.busy(), datagrams
}

// Close ends every connection and the device, and waits for what served them. A
// second call does nothing.
func (s *Stack) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.cancel()
	s.link.stop()
	<-s.reader
	s.stack.Close()
	s.flows.Wait()
	s.stack.Destroy()
	s.ledger.close()
	return s.link.close()
}

// enter counts a flow that Close waits for; false if there is nothing to begin any
// more.
func (s *Stack) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.flows.Add(1)
	s.sending.add(1)
	return true
}

// begin runs a part of the stack that Close ends by closing what it serves; false
// if the stack is closed.
func (s *Stack) begin(serve func(), c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.flows.Add(1)
	stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
	go func() {
		defer s.flows.Done()
		defer stop()
		serve()
	}()
	return true
}
