package grant

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// humanHost maps what people write to A-labels: UTS #46, non-transitional, so
// that "faß" and "fass" stay two hosts. Hyphens aren't checked here because
// real names hold "--" in the third place.
var humanHost = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.BidiRule(),
	idna.CheckJoiners(true),
	idna.CheckHyphens(false),
	idna.StrictDomainName(true),
)

const (
	maxHost  = 253
	maxLabel = 63
)

// parseHost reads a canonical host: an A-label name, an IPv4 address, or an
// IPv6 address in brackets. The address is invalid for a name.
func parseHost(s string) (netip.Addr, error) {
	if strings.HasPrefix(s, "[") || strings.HasSuffix(s, "]") {
		return parseV6(s)
	}
	if endsInNumber(s) {
		a, err := netip.ParseAddr(s)
		if err != nil || a.String() != s {
			return netip.Addr{}, fmt.Errorf("host %q ends in a number, want an IPv4 address as in 192.0.2.1", s)
		}
		return a, nil
	}
	return netip.Addr{}, checkName(s)
}

func parseV6(s string) (netip.Addr, error) {
	inner, ok := strings.CutPrefix(s, "[")
	if ok {
		inner, ok = strings.CutSuffix(inner, "]")
	}
	a, err := netip.ParseAddr(inner)
	switch {
	case !ok || err != nil || !a.Is6():
		return netip.Addr{}, fmt.Errorf("host %q, want an IPv6 address in brackets as in [2001:db8::1]", s)
	case a.Zone() != "":
		return netip.Addr{}, fmt.Errorf("host %q has a zone id, which means nothing elsewhere; leave %%%s out", s, a.Zone())
	case a.Is4In6():
		return netip.Addr{}, fmt.Errorf("host %q is an IPv4 address in disguise; write %s", s, a.Unmap())
	case a.String() != inner:
		return netip.Addr{}, fmt.Errorf("host %q, want the canonical spelling; write [%s]", s, a)
	}
	return a, nil
}

// endsInNumber is the URL standard's rule for what a resolver or a browser may
// take for an IPv4 address in some old spelling ("127.1", "0x7f.1").
func endsInNumber(s string) bool {
	s = strings.TrimSuffix(s, ".")
	last := s[strings.LastIndexByte(s, '.')+1:]
	if digits, hex := strings.CutPrefix(strings.ToLower(last), "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// checkName accepts lower-case A-labels without a trailing dot.
func checkName(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("no host, want a name or an address before the port")
	case len(s) > maxHost:
		return fmt.Errorf("host of %d bytes, want at most %d", len(s), maxHost)
	case strings.Contains(s, "*"):
		return fmt.Errorf("host %q has a wildcard, and the standard has none; list each host", s)
	case strings.HasSuffix(s, "."):
		return fmt.Errorf("host %q ends in a dot; write %q", s, strings.TrimRight(s, "."))
	}
	for label := range strings.SplitSeq(s, ".") {
		if err := checkLabel(s, label); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(host, label string) error {
	if label == "" || len(label) > maxLabel {
		return fmt.Errorf("host %q has a label of %d bytes, want 1 to %d", host, len(label), maxLabel)
	}
	for i := range len(label) {
		c := label[i]
		if c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return fmt.Errorf("host %q, want lower-case A-labels; %s", host, hostHint(host))
		}
		if !isNameByte(c) {
			return fmt.Errorf("host %q holds %q, want letters, digits, hyphens and dots", host, c)
		}
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return fmt.Errorf("host %q has the label %q, want no hyphen at either end", host, label)
	}
	if strings.HasPrefix(label, "xn--") {
		return checkALabel(host, label)
	}
	return nil
}

// isNameByte allows the underscore too: it is in real service names, and it
// can't be mistaken for anything else.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// checkALabel refuses what decodes to nothing, or to another label's spelling.
func checkALabel(host, label string) error {
	u, err := humanHost.ToUnicode(label)
	if err == nil {
		var back string
		if back, err = humanHost.ToASCII(u); err == nil && back == label && u != label {
			return nil
		}
	}
	return fmt.Errorf("host %q has the label %q, which is no valid A-label (IDNA)", host, label)
}

func hostHint(host string) string {
	if h, err := normalHost(host); err == nil {
		return fmt.Sprintf("write %q", h)
	}
	return "convert the name to punycode"
}

// normalHost maps a person's spelling of a host to the canonical one.
func normalHost(s string) (string, error) {
	if strings.HasPrefix(s, "[") {
		return normalV6(s), nil
	}
	h := strings.TrimSuffix(s, ".")
	if !isPlain(h) {
		a, err := humanHost.ToASCII(h)
		if err != nil {
			return "", fmt.Errorf("host %q is no internationalized name: %v", s, err)
		}
		h = strings.TrimSuffix(a, ".") // a mapped full stop
	}
	h = lowerASCII(h)
	_, err := parseHost(h)
	return h, err
}

// normalV6 rewrites an IPv6 literal; what can't be read is left for the parser.
func normalV6(s string) string {
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return s
	}
	return "[" + a.String() + "]"
}

// isPlain reports whether IDNA has nothing to say about s.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return !strings.Contains(lowerASCII(s), "xn--")
}

// lowerASCII leaves everything beyond ASCII as it is: Unicode lower-casing
// would turn the Kelvin sign into a k.
func lowerASCII(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
