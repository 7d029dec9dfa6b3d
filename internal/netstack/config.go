package netstack

import (
	"context"
	"net"
	"net/netip"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/egress"
)

// Rules decide what the unit's network carries. [grant.Enforcer] does.
type Rules interface {
	egress.Rules
	MayListen() grant.Decision
}

// Network is what the host reaches for the unit. [egress.Host] is the host's own.
type Network interface {
	// Lookup resolves a granted name.
	Lookup(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial opens a TCP connection to exactly that address.
	Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// DialUDP opens a socket for datagrams to and from exactly that address.
	DialUDP(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// Config is what one unit's network is made from.
type Config struct {
	// Rules decide; there is no default.
	Rules Rules
	// Outbound is the list of the grant (§5.3) that the rules were made from. Its
	// names get addresses inside.
	Outbound []string
	// Open gives each name that is asked for an address, and not the list's alone, if
	// the rules let it be resolved: for watching what a trusted unit reaches.
	Open bool
	// Network is the host's own if nil.
	Network Network
	// Record, if not nil, is told of every flow once it is over and of every
	// denial; equal denials after the first only once, when the stack is closed,
	// with their number. It must not block.
	Record func(Flow)
	// Limits bound what the unit can make the host hold.
	Limits Limits
}

// Limits bound one unit's network. Zero is the default that a field names.
type Limits struct {
	// Connections is how many TCP connections are open at once; 1024.
	Connections int
	// Attempts is how many of them are being set up at once; 128. A flood of
	// connects waits for those, as it would for a slow link.
	Attempts int
	// Datagrams is how many UDP flows are open at once, of up to 400 KiB each; 256.
	Datagrams int
	// Memory is how many bytes of data in transit all connections hold; 256 MiB.
	// Each needs 68 KiB for each way; as long as there is more, each gets more. What
	// is kept of a request to read it comes to that, up to 256 KiB for a connection.
	Memory int
}

func (l Limits) filled() Limits {
	or := func(v *int, fallback int) {
		if *v <= 0 {
			*v = fallback
		}
	}
	or(&l.Connections, 1024)
	or(&l.Attempts, 128)
	or(&l.Datagrams, 256)
	or(&l.Memory, 256<<20)
	return l
}

// Flow is one connection, one exchange of datagrams, or one question to the
// resolver.
type Flow struct {
	// Protocol is "tcp", "udp", "dns", or "listen" for a connection from outside.
	Protocol string
	// Endpoint is host:port as the grant would name it; a name alone for dns.
	Endpoint string
	// Address is what the host connected to, if it came to that.
	Address netip.AddrPort
	// Sent and Received count the payload bytes that left the unit and came to it.
	Sent, Received int64
	// Decision is whether and why the flow was allowed, and what would allow it.
	grant.Decision
	// Err is why an allowed flow came to nothing or broke off.
	Err error
	// Times is how many flows this one stands for.
	Times int64
}

// Counts sum up a unit's use of its network.
type Counts struct {
	// Connections were opened, datagram exchanges among them; Failed were allowed,
	// and came to nothing; Denied were not allowed, names that weren't resolved
	// among them.
	Connections, Failed, Denied int64
	// Sent and Received are payload bytes, from the unit and to it.
	Sent, Received int64
}
