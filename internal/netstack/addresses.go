package netstack

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/joulebox/joulebox/grant"
)

// The unit's network looks the same on every host. IPv4 is the range for benchmarks
// (RFC 2544), which nobody routes; IPv6 is a unique local prefix (RFC 4193). Neither
// is public, so no granted name leads to the real range.
var (
	unitV4     = netip.MustParseAddr("198.18.0.2")
	unitV6     = netip.MustParseAddr("fd6a:6f75:6c65::2")
	resolverV4 = netip.MustParseAddr("198.18.0.1")
	resolverV6 = netip.MustParseAddr("fd6a:6f75:6c65::1")

	rangeV4 = netip.MustParsePrefix("198.18.0.0/15")
	rangeV6 = netip.MustParsePrefix("fd6a:6f75:6c65::/48")

	firstV4 = netip.MustParseAddr("198.18.1.1")
	firstV6 = netip.MustParseAddr("fd6a:6f75:6c65:1::1")
)

// names holds the synthetic addresses of the granted names, one of each family.
type names struct {
	mu    sync.Mutex
	addrs map[string][2]netip.Addr
	hosts map[netip.Addr]string
	taken map[netip.Addr]bool
	// v4 and v6 are the next ones.
	v4, v6 netip.Addr
	// open says that each name that is asked for gets an address.
	open bool
}

// mostNames is how many an open network gives addresses to.
const mostNames = 4096

// newNames gives addresses in the order of the names, so the same grants always
// make the same network.
func newNames(outbound []string) (*names, error) {
	var hosts []string
	taken := map[netip.Addr]bool{}
	for i, text := range outbound {
		ep, err := grant.ParseEndpoint(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("outbound[%d]: %w", i, err)
		case !ep.Addr.IsValid():
			hosts = append(hosts, ep.Host)
		case slices.Contains([]netip.Addr{unitV4, unitV6, resolverV4, resolverV6}, ep.Addr):
			return nil, fmt.Errorf("outbound[%d]: got %q, want another address: that one is part of the unit's own network", i, text)
		default:
			taken[ep.Addr] = true
		}
	}
	slices.Sort(hosts)
	n := &names{addrs: map[string][2]netip.Addr{}, hosts: map[netip.Addr]string{}, taken: taken, v4: firstV4, v6: firstV6}
	for _, host := range slices.Compact(hosts) {
		if !n.add(host) {
			return nil, fmt.Errorf("outbound: got %d names, want as many as %v holds", len(hosts), rangeV4)
		}
	}
	return n, nil
}

// add gives a name its addresses; false if there are no more.
func (n *names) add(host string) bool {
	v4, v6 := free(n.v4, n.taken), free(n.v6, n.taken)
	if !rangeV4.Contains(v4) {
		return false
	}
	n.addrs[host] = [2]netip.Addr{v4, v6}
	n.hosts[v4], n.hosts[v6] = host, host
	n.v4, n.v6 = v4.Next(), v6.Next()
	return true
}

// of is a name's addresses. An open network makes them, if it may.
func (n *names) of(host string, may bool) (a [2]netip.Addr, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, known = n.addrs[host]; known || !n.open || !may || len(n.addrs) >= mostNames || strings.HasPrefix(host, "_") {
		return a, known
	}
	if ep, err := grant.ParseEndpoint(host + ":1"); err != nil || ep.Addr.IsValid() || !n.add(host) {
		return a, false
	}
	return n.addrs[host], true
}

// host is the name that an address stands for.
func (n *names) host(a netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, ok := n.hosts[a]
	return host, ok
}

func free(a netip.Addr, taken map[netip.Addr]bool) netip.Addr {
	for taken[a] {
		a = a.Next()
	}
	return a
}

// endpoint is what a connection to an address inside asks for.
func (n *names) endpoint(to netip.AddrPort) string {
	if host, ok := n.host(to.Addr()); ok {
		return fmt.Sprintf("%s:%d", host, to.Port())
	}
	return to.String() // an address in brackets where it is IPv6
}
