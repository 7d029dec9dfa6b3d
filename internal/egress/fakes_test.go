package egress

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// dialer answers as it is told to, and counts what is open.
type dialer struct {
	refuse, hang, slow map[string]bool

	mu    sync.Mutex
	gate  chan struct{}
	tried []string
	n     int
}

type fakeConn struct {
	net.Conn
	to string
	d  *dialer
}

func (c *fakeConn) Close() error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.n--
	return nil
}

func (d *dialer) wait() chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate == nil {
		d.gate = make(chan struct{})
	}
	return d.gate
}

func (d *dialer) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d.mu.Lock()
	d.tried = append(d.tried, to.String())
	d.mu.Unlock()
	switch {
	case d.refuse[to.String()]:
		return nil, syscall.ECONNREFUSED
	case d.hang[to.String()]:
		<-ctx.Done()
		return nil, ctx.Err()
	case d.slow[to.String()]:
		<-d.wait() // and succeeds when it isn't wanted any more
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	return &fakeConn{to: to.String(), d: d}, nil
}

func (d *dialer) dialed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tried
}

func (d *dialer) open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

func addresses(list ...string) (all []netip.AddrPort) {
	for _, a := range list {
		all = append(all, netip.MustParseAddrPort(a))
	}
	return all
}
