package netstack

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

const (
	dnsPort = 53
	// dnsIdle is how long a connection to the resolver may say nothing.
	dnsIdle = 10 * time.Second
	// dnsConnections is how many there are at once.
	dnsConnections = 16
)

// startResolver answers at both addresses, over UDP and TCP. Questions are answered
// one by one: a flood is lost in the socket's buffer, and costs nobody else.
func (s *Stack) startResolver() error {
	r := &resolver{s.names, s.config.Rules, s.ledger.deny}
	slots := make(chan struct{}, dnsConnections)
	for _, a := range []netip.Addr{resolverV4, resolverV6} {
		at := fullAddress(a, dnsPort)
		protocol := ipv4.ProtocolNumber
		if a.Is6() {
			protocol = ipv6.ProtocolNumber
		}
		packets, err := gonet.DialUDP(s.stack, &at, nil, protocol)
		if err != nil {
			return err
		}
		s.begin(func() { serveDatagrams(r, packets) }, packets)
		listener, err := gonet.ListenTCP(s.stack, at, protocol)
		if err != nil {
			return err
		}
		s.begin(func() { s.serveStreams(r, listener, slots) }, listener)
	}
	return nil
}

func serveDatagrams(r *resolver, c *gonet.UDPConn) {
	b := make([]byte, maxQuery)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		if reply, err := r.answer(b[:n]); err == nil {
			_, _ = c.WriteTo(reply, from)
		}
	}
}

func (s *Stack) serveStreams(r *resolver, l net.Listener, slots chan struct{}) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !take(slots) || !s.enter() {
			_ = c.Close()
			continue
		}
		s.sending.add(-1) // it has nothing to send that would go out
		go func() {
			defer s.flows.Done()
			defer func() { <-slots }()
			defer c.Close()
			serveStream(r, c)
		}()
	}
}

func serveStream(r *resolver, c net.Conn) {
	b := make([]byte, maxQuery)
	for {
		_ = c.SetDeadline(time.Now().Add(dnsIdle))
		if _, err := io.ReadFull(c, b[:2]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(b))
		if n > len(b) {
			return
		}
		if _, err := io.ReadFull(c, b[:n]); err != nil {
			return
		}
		reply, err := r.answer(b[:n])
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}
