package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/egress"
	"github.com/joulebox/joulebox/internal/hostcall"
)

// Network is the world outside, for what a unit may reach of it (§5.3).
type Network interface {
	// Lookup resolves a granted name.
	Lookup(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial opens a TCP connection to exactly that address.
	Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// egressTime bounds one exchange; the unit's own time bounds it too.
const egressTime = 60 * time.Second

// egress sends a request and reads the answer up to len(response) or the end.
func (b *Broker) egress(ctx context.Context, endpoint string, request, response []byte) (int, error) {
	if h := b.config.handed; h != nil {
		return h.egress(ctx, endpoint, request, response)
	}
	addrs, err := b.reach(ctx, endpoint)
	if err != nil {
		return 0, err
	}
	var denied *egress.Denied
	if err := egress.NewInspector(endpoint).Inspect(request); errors.As(err, &denied) {
		return 0, b.denyConnection(denied.Decision)
	}
	conn, err := egress.Connect(ctx, addrs, b.config.Network.Dial)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	b.counts.connections.Add(1)
	conn.SetDeadline(time.Now().Add(egressTime))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	return exchange(conn, request, response)
}

func exchange(conn net.Conn, request, response []byte) (int, error) {
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		if err := half.CloseWrite(); err != nil {
			return 0, err
		}
	}
	n, err := io.ReadFull(conn, response)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// reach decides on an endpoint and on each address that its name has now.
func (b *Broker) reach(ctx context.Context, endpoint string) ([]netip.AddrPort, error) {
	if _, err := grant.NormalizeEndpoint(endpoint); err != nil {
		return nil, fmt.Errorf("%w: %w", hostcall.Invalid, err)
	}
	addrs, err := egress.Addresses(ctx, b.enforcer, endpoint, b.config.Network.Lookup)
	var denied *egress.Denied
	if errors.As(err, &denied) {
		return nil, b.denyConnection(denied.Decision)
	}
	return addrs, err
}

func (b *Broker) denyConnection(d grant.Decision) error {
	b.counts.connectionsDenied.Add(1)
	b.deny(d)
	return hostcall.Denied
}
