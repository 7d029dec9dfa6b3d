package grant

import (
	"net/netip"
	"sync"
)

// AddrKind says whose an address is. Anything but Public is out of reach of a
// granted name (§5.3): a name's owner could point it at the host's own network.
type AddrKind uint8

// The kinds, most sensitive last.
const (
	AddrPublic    AddrKind = iota
	AddrReserved           // multicast, broadcast, documentation, benchmarking, unassigned
	AddrPrivate            // private and shared address space, unique local
	AddrLinkLocal          // on the link only
	AddrLoopback           // the host itself, unspecified included
	AddrMetadata           // a cloud's instance metadata
)

var addrKindNames = [...]string{"public", "reserved", "private", "link-local", "loopback", "metadata"}

// String is for people.
func (k AddrKind) String() string { return addrKindNames[k] }

// Metadata services of the large clouds, some at addresses that look public.
var metadataAddrs = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // most clouds
	netip.MustParseAddr("169.254.170.2"),   // AWS container credentials
	netip.MustParseAddr("169.254.170.23"),  // AWS pod identity
	netip.MustParseAddr("168.63.129.16"),   // Azure host
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // AWS pod identity
	netip.MustParseAddr("fd20:ce::254"),    // Google
}

type addrRange struct {
	prefix netip.Prefix
	kind   AddrKind
}

func ranges(kind AddrKind, prefixes ...string) []addrRange {
	list := make([]addrRange, len(prefixes))
	for i, p := range prefixes {
		list[i] = addrRange{netip.MustParsePrefix(p), kind}
	}
	return list
}

// addrRanges is the IANA special-purpose registries of both families, as far
// as they aren't globally reachable. NAT64's 64:ff9b::/96 and 6to4's 2002::/16
// aren't here: those are judged by the IPv4 address inside.
var addrRanges = sync.OnceValue(func() (all []addrRange) {
	all = append(all, ranges(AddrLoopback, "127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128")...)
	all = append(all, ranges(AddrLinkLocal, "169.254.0.0/16", "fe80::/10")...)
	all = append(all, ranges(AddrPrivate, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
		"fc00::/7", "fec0::/10", "64:ff9b:1::/48")...)
	return append(all, ranges(AddrReserved, "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "100::/64", "100:0:0:1::/64",
		"2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "ff00::/8", "::/96")...)
})

// AddrClass classifies an address. An IPv6 address that carries an IPv4 one
// (mapped, compatible, translated, 6to4, NAT64, Teredo, ISATAP) is as sensitive as
// what it carries.
func AddrClass(a netip.Addr) AddrKind {
	a = a.WithZone("").Unmap()
	if !a.IsValid() {
		return AddrReserved
	}
	kind := plainClass(a)
	for _, inner := range embedded(a) {
		kind = max(kind, plainClass(inner))
	}
	return kind
}

func plainClass(a netip.Addr) AddrKind {
	for _, m := range metadataAddrs {
		if a == m {
			return AddrMetadata
		}
	}
	for _, r := range addrRanges() {
		if r.prefix.Contains(a) {
			return r.kind
		}
	}
	// Outside of global unicast 2000::/3 nothing is assigned but NAT64.
	if a.Is6() && a.As16()[0]>>5 != 1 && !nat64.Contains(a) {
		return AddrReserved
	}
	return AddrPublic
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// embedded lists the IPv4 addresses that an IPv6 address carries.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	v4 := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case nat64.Contains(a), localNAT64.Contains(a), compatible.Contains(a), translated.Contains(a):
		return []netip.Addr{v4(12)}
	case sixToFour.Contains(a):
		return []netip.Addr{v4(2)}
	case teredo.Contains(a):
		// The server, and the client with every bit turned (RFC 4380).
		return []netip.Addr{v4(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return []netip.Addr{v4(12)} // ISATAP (RFC 5214)
	}
	return nil
}
