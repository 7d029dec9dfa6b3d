package egress

import (
	"context"
	"net"
	"net/netip"
)

// Host is the network that the host is on.
type Host struct{}

// Lookup asks the host's resolver. The final dot keeps search domains out: the
// grant names this host alone.
func (Host) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
}

// Dial opens a TCP connection.
func (Host) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// DialUDP opens a socket for datagrams to and from one address.
func (Host) DialUDP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "udp", to.String())
}
