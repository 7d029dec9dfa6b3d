package netstack

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/joulebox/joulebox/internal/egress"
)

const (
	// datagramIdle ends an exchange of datagrams, which has no end of its own.
	datagramIdle = 60 * time.Second
	// datagramMost is the largest payload of one.
	datagramMost = 65535
)

// handleUDP begins an exchange with the first datagram from a port to an endpoint.
// false has the stack say that nobody is there, which the unit sees as a refusal.
func (s *Stack) handleUDP(r *udp.ForwarderRequest) bool {
	f := Flow{Protocol: "udp", Endpoint: s.names.endpoint(target(r.ID()))}
	if d := s.config.Rules.MayEgress(f.Endpoint); !d.Allowed {
		s.broken(&f, &egress.Denied{Decision: d})
		return false
	}
	if !take(s.datagrams) {
		s.crowded(f, cap(s.datagrams))
		return true
	}
	if !s.enter() {
		<-s.datagrams
		return true
	}
	x := &exchange{Stack: s, flow: f, left: s.sender()}
	ep, err := r.CreateEndpoint(&x.events)
	if err != nil {
		x.over()
		return true
	}
	x.ep, x.unit = ep, gonet.NewUDPConn(&x.events, ep)
	s.exchanges.Store(x, nil)
	go x.serve()
	return true
}

// exchange is the datagrams between a port of the unit and an endpoint.
type exchange struct {
	*Stack
	flow   Flow
	events waiter.Queue
	ep     tcpip.Endpoint
	unit   *gonet.UDPConn
	conn   net.Conn
	idle   *time.Timer
	left   func()
	// carrying is set while a datagram is on its way through.
	carrying atomic.Bool
}

// busy reports whether there is something to send.
func (x *exchange) busy() bool {
	return x.carrying.Load() || x.ep.Readiness(waiter.ReadableEvents) != 0
}

func (x *exchange) over() {
	x.exchanges.Delete(x)
	x.left()
	<-x.datagrams
	x.flows.Done()
}

// serve carries datagrams both ways until neither has one for a while.
func (x *exchange) serve() {
	defer x.over()
	defer x.unit.Close()
	if x.conn = x.connect(&x.flow, x.config.Network.DialUDP); x.conn == nil {
		return
	}
	stop := context.AfterFunc(x.ctx, x.end)
	defer stop()
	x.idle = time.AfterFunc(datagramIdle, x.end)
	defer x.idle.Stop()
	received := make(chan int64, 1)
	go func() { received <- x.receive() }()
	sent, err := x.send()
	x.end()
	x.flow.Sent, x.flow.Received = sent, <-received
	var denied *egress.Denied
	if errors.As(err, &denied) {
		x.flow.Decision = denied.Decision
		x.ledger.deny(x.flow)
		return
	}
	x.ledger.end(x.flow)
}

func (x *exchange) end() {
	_ = x.conn.Close()
	_ = x.unit.SetReadDeadline(time.Unix(1, 0))
}

// send carries what the unit sends.
func (x *exchange) send() (sum int64, err error) {
	look := egress.NewDatagramInspector(x.flow.Endpoint)
	b := make([]byte, datagramMost)
	for {
		if x.ep.Readiness(waiter.ReadableEvents) == 0 {
			x.left() // what came before it was connected is sent
			x.carrying.Store(false)
		}
		n, err := x.unit.Read(b)
		if err != nil {
			return sum, nil
		}
		x.carrying.Store(true)
		x.idle.Reset(datagramIdle)
		list, err := look.Inspect(b[:n])
		if err != nil {
			return sum, err
		}
		for _, p := range list {
			// One that the host can't send is lost, as others are on the way.
			if m, err := x.conn.Write(p); err == nil {
				sum += int64(m)
				x.ledger.sent.Add(int64(m))
			}
		}
	}
}

// receive carries what the host receives, until it is refused or closed.
func (x *exchange) receive() (sum int64) {
	defer x.end()
	b := make([]byte, datagramMost)
	for {
		n, err := x.conn.Read(b)
		if err != nil {
			return sum
		}
		x.idle.Reset(datagramIdle)
		if m, err := x.unit.Write(b[:n]); err == nil {
			sum += int64(m)
			x.ledger.received.Add(int64(m))
		}
	}
}
