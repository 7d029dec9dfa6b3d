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
	"github.com/joulebox/joulebox/internal/hostcall"
)

// Network is the world outside, for what a unit may reach of it (§5.3).
type Network interface {
	// Lookup resolves a granted name.
	Lookup(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial opens a TCP connection to exactly that address.
	Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

type hostNetwork struct{}

func (hostNetwork) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	// The final dot keeps search domains out: the grant names this host alone.
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
}

func (hostNetwork) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

const (
	// egressTime bounds one exchange; the unit's own time bounds it too.
	egressTime = 60 * time.Second
	dialTime   = 10 * time.Second
	maxDials   = 4 // addresses of one name that are tried
)

// egress sends a request and reads the answer up to len(response) or the end.
func (b *Broker) egress(ctx context.Context, endpoint string, request, response []byte) (int, error) {
	if h := b.config.handed; h != nil {
		return h.egress(ctx, endpoint, request, response)
	}
	addrs, err := b.reach(ctx, endpoint)
	if err != nil {
		return 0, err
	}
	conn, err := b.dial(ctx, addrs)
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
// Whoever owns the name doesn't get to point it into the host's own network.
func (b *Broker) reach(ctx context.Context, endpoint string) ([]netip.AddrPort, error) {
	ep, err := grant.NormalizeEndpoint(endpoint)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", hostcall.Invalid, err)
	}
	// As the unit wrote it: a spelling that had to be repaired is denied.
	if d := b.enforcer.MayEgress(endpoint); !d.Allowed {
		return nil, b.denyConnection(d)
	}
	addrs := []netip.Addr{ep.Addr}
	if !ep.Addr.IsValid() {
		if addrs, err = b.lookup(ctx, ep.Host); err != nil {
			return nil, err
		}
	}
	var list []netip.AddrPort
	var refused grant.Decision
	for _, a := range addrs {
		if d := b.enforcer.MayReach(ep.String(), a); d.Allowed {
			list = append(list, netip.AddrPortFrom(a.Unmap(), ep.Port))
		} else {
			refused = d
		}
	}
	if len(list) == 0 {
		return nil, b.denyConnection(refused)
	}
	return list, nil
}

func (b *Broker) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if d := b.enforcer.MayResolve(name); !d.Allowed {
		return nil, b.denyConnection(d)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	addrs, err := b.config.Network.Lookup(ctx, name)
	if err == nil && len(addrs) == 0 {
		err = fmt.Errorf("egress: %s has no address", name)
	}
	return addrs, err
}

func (b *Broker) denyConnection(d grant.Decision) error {
	b.counts.connectionsDenied.Add(1)
	b.deny(d)
	return hostcall.Denied
}

// dial tries the addresses in the resolver's order. They are the ones that were
// decided on: nothing is resolved a second time.
func (b *Broker) dial(ctx context.Context, addrs []netip.AddrPort) (net.Conn, error) {
	var errs []error
	for _, a := range addrs[:min(len(addrs), maxDials)] {
		conn, err := b.dialOne(ctx, a)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func (b *Broker) dialOne(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return b.config.Network.Dial(ctx, a)
}
