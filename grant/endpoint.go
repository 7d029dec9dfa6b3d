package grant

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Endpoint is one host:port of §5.3.
type Endpoint struct {
	// Host is a lower-case A-label name or an address; IPv6 in brackets.
	Host string
	// Addr is valid if Host is an address.
	Addr netip.Addr
	// Port is 1 to 65535.
	Port uint16
}

// String is the canonical spelling.
func (e Endpoint) String() string { return e.Host + ":" + strconv.Itoa(int(e.Port)) }

// ParseEndpoint reads a canonical endpoint: a lower-case A-label name without
// a trailing dot, an IPv4 address, or an IPv6 address in brackets without a
// zone; then a port without leading zeros. There are no wildcards.
func ParseEndpoint(s string) (Endpoint, error) {
	host, port, err := splitEndpoint(s)
	if err != nil {
		return Endpoint{}, fmt.Errorf("got %q: %w", s, err)
	}
	addr, err := parseHost(host)
	if err != nil {
		return Endpoint{}, fmt.Errorf("got %q: %w", s, err)
	}
	return Endpoint{Host: host, Addr: addr, Port: port}, nil
}

// NormalizeEndpoint reads an endpoint as people write it (any case, any
// script, a trailing dot, a long IPv6 spelling) and gives the canonical one.
func NormalizeEndpoint(s string) (Endpoint, error) {
	host, _, err := splitEndpoint(s)
	if err != nil {
		return Endpoint{}, fmt.Errorf("got %q: %w", s, err)
	}
	h, err := normalHost(host)
	if err != nil {
		return Endpoint{}, fmt.Errorf("got %q: %w", s, err)
	}
	return ParseEndpoint(h + s[len(host):])
}

func splitEndpoint(s string) (host string, port uint16, err error) {
	if strings.Contains(s, "://") {
		return "", 0, fmt.Errorf("want host:port, not a URL")
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 || i < strings.LastIndexByte(s, ']') {
		return "", 0, fmt.Errorf("no port, want host:port")
	}
	if host = s[:i]; strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "", 0, fmt.Errorf("more than one colon, want an IPv6 address in brackets as in [2001:db8::1]:443")
	}
	port, err = parsePort(s[i+1:])
	return host, port, err
}

func parsePort(s string) (uint16, error) {
	if s == "*" {
		return 0, fmt.Errorf("port %q is a wildcard, and the standard has none; list each port", s)
	}
	n, err := strconv.ParseUint(s, 10, 16)
	// A second spelling of a port would be a second endpoint with the same meaning.
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, fmt.Errorf("port %q, want 1 to 65535 without leading zeros", s)
	}
	return uint16(n), nil
}

// queryEndpoint is what a unit's request is compared as: lower-cased, without
// one trailing dot of the name. Nothing else is repaired, so a spelling that a
// resolver might read otherwise is denied.
func queryEndpoint(s string) (Endpoint, error) {
	s = lowerASCII(s)
	if i := strings.LastIndexByte(s, ':'); i > 0 && s[i-1] == '.' {
		s = s[:i-1] + s[i:]
	}
	return ParseEndpoint(s)
}
