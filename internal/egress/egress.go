// Package egress reaches what a unit's grants name, for every way out that a unit
// has (§5.3): a host call, or a network of its own. Whoever owns a name doesn't get
// to point it into the host's network: each address is decided on when it is
// dialled, and what was decided on is what is dialled.
package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/joulebox/joulebox/grant"
)

// Rules decide what may leave. [grant.Enforcer] does.
type Rules interface {
	MayEgress(endpoint string) grant.Decision
	MayResolve(name string) grant.Decision
	MayReach(endpoint string, addr netip.Addr) grant.Decision
}

// Denied is the error for what the rules didn't allow.
type Denied struct{ grant.Decision }

func (d *Denied) Error() string { return "denied: " + d.Reason }

// Lookup resolves a granted name.
type Lookup func(ctx context.Context, name string) ([]netip.Addr, error)

// Dial opens a connection to exactly that address.
type Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

const (
	// Timeout bounds a lookup, and the attempt at one address.
	Timeout = 10 * time.Second
	// maxDials is how many addresses of one name are tried.
	maxDials = 4
	// head is how far ahead an address is of the next one (RFC 8305).
	head = 250 * time.Millisecond
)

// Addresses lists what a connection to an endpoint may be dialled at now. The
// error is a *Denied if the rules say so.
func Addresses(ctx context.Context, rules Rules, endpoint string, lookup Lookup) ([]netip.AddrPort, error) {
	// As the unit wrote it: a spelling that had to be repaired is denied.
	if d := rules.MayEgress(endpoint); !d.Allowed {
		return nil, &Denied{d}
	}
	ep, err := grant.NormalizeEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{ep.Addr}
	if !ep.Addr.IsValid() {
		if addrs, err = resolve(ctx, rules, ep.Host, lookup); err != nil {
			return nil, err
		}
	}
	var list []netip.AddrPort
	var refused grant.Decision
	for _, a := range addrs {
		if d := rules.MayReach(ep.String(), a); d.Allowed {
			list = append(list, netip.AddrPortFrom(a.Unmap(), ep.Port))
		} else {
			refused = d
		}
	}
	if len(list) == 0 {
		return nil, &Denied{refused}
	}
	return list, nil
}

func resolve(ctx context.Context, rules Rules, name string, lookup Lookup) ([]netip.Addr, error) {
	if d := rules.MayResolve(name); !d.Allowed {
		return nil, &Denied{d}
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	addrs, err := lookup(ctx, name)
	if err == nil && len(addrs) == 0 {
		err = fmt.Errorf("%s has no address", name)
	}
	return addrs, err
}
