package grant

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Origin is scheme://host[:port] of §5.6. Origins are equal if == says so.
type Origin struct {
	// Scheme is http, https, ws or wss.
	Scheme string
	// Host is as in Endpoint.
	Host string
	// Port is the effective port, the scheme's own if none was written.
	Port uint16
}

// defaultPorts holds the schemes with a tuple origin. file, data, blob, about
// and javascript have opaque origins, which never match.
var defaultPorts = map[string]uint16{"http": 80, "https": 443, "ws": 80, "wss": 443}

// String is the canonical spelling: the default port is left out.
func (o Origin) String() string {
	s := o.Scheme + "://" + o.Host
	if o.Port != defaultPorts[o.Scheme] {
		s += ":" + strconv.Itoa(int(o.Port))
	}
	return s
}

// ParseOrigin reads an origin as a grant holds it: no path, no userinfo, no
// wildcard, a canonical host. The default port may be written out.
func ParseOrigin(s string) (Origin, error) {
	scheme, rest, err := splitScheme(s)
	if err != nil {
		return Origin{}, fmt.Errorf("got %q: %w", s, err)
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return Origin{}, fmt.Errorf("got %q, want an origin without a path; write %q", s, scheme+"://"+rest[:i])
	}
	return originOf(s, scheme, rest, parseHost)
}

// NormalizeOrigin reads an origin as people write it: any case, any script, a
// trailing slash.
func NormalizeOrigin(s string) (Origin, error) {
	scheme, rest, err := splitScheme(lowerScheme(s))
	if err != nil {
		return Origin{}, fmt.Errorf("got %q: %w", s, err)
	}
	host, port := splitAuthority(strings.TrimSuffix(rest, "/"))
	h, err := normalHost(host)
	if err != nil {
		return Origin{}, fmt.Errorf("got %q: %w", s, err)
	}
	return ParseOrigin(scheme + "://" + h + port)
}

// OriginOf is the origin that a browser would reach for an absolute URL, or an
// error. It never names another origin than the URL standard does: what that
// standard would repair first (blanks, missing or backward slashes) and hosts
// that it would rewrite (percent-encoded, in another script, old numeric forms)
// are refused. A user name before the host is no part of the origin.
func OriginOf(url string) (Origin, error) {
	if i := strings.IndexFunc(url, unplain); i >= 0 {
		return Origin{}, fmt.Errorf("got %q, want a URL without blanks and control characters", url)
	}
	scheme, rest, err := splitScheme(lowerScheme(url))
	if err != nil {
		return Origin{}, fmt.Errorf("got %q: %w", url, err)
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	// A backslash would end the authority in a browser, before any "@".
	if strings.Contains(rest, `\`) {
		return Origin{}, fmt.Errorf("got %q, want no backslash before the path", url)
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	host, port := splitAuthority(lowerASCII(rest))
	return originOf(url, scheme, host+urlPort(port), parseURLHost)
}

// urlPort drops what the URL standard does: an empty port, leading zeros.
func urlPort(s string) string {
	digits := strings.TrimPrefix(s, ":")
	if digits == "" {
		return ""
	}
	return ":" + strings.TrimLeft(digits[:len(digits)-1], "0") + digits[len(digits)-1:]
}

func unplain(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }

// parseURLHost takes any spelling of an IPv6 address, since the URL standard
// serializes some otherwise than RFC 5952 does; the address is what counts.
func parseURLHost(s string) (netip.Addr, error) {
	return parseHost(normalV6IfBracketed(s))
}

func normalV6IfBracketed(s string) string {
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return normalV6(s)
	}
	return s
}

func originOf(text, scheme, authority string, parse func(string) (netip.Addr, error)) (Origin, error) {
	if strings.Contains(authority, "@") {
		return Origin{}, fmt.Errorf("got %q, want no user name before the host", text)
	}
	host, portText := splitAuthority(authority)
	addr, err := parse(host)
	if err != nil {
		return Origin{}, fmt.Errorf("got %q: %w", text, err)
	}
	if addr.Is6() {
		host = "[" + addr.String() + "]"
	}
	port := defaultPorts[scheme]
	if portText != "" {
		if port, err = parsePort(portText[1:]); err != nil {
			return Origin{}, fmt.Errorf("got %q: %w", text, err)
		}
	}
	return Origin{Scheme: scheme, Host: host, Port: port}, nil
}

func splitScheme(s string) (scheme, rest string, err error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return "", "", fmt.Errorf("want scheme://host[:port]")
	}
	if _, known := defaultPorts[scheme]; !known {
		return "", "", fmt.Errorf("scheme %q, want http, https, ws or wss", scheme)
	}
	return scheme, rest, nil
}

// splitAuthority splits host and ":port"; the port's colon follows any bracket.
func splitAuthority(s string) (host, port string) {
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		return s[:i], s[i:]
	}
	return s, ""
}

func lowerScheme(s string) string {
	if i := strings.IndexByte(s, ':'); i >= 0 {
		return lowerASCII(s[:i]) + s[i:]
	}
	return s
}
