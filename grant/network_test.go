package grant_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/grant"
)

func TestParseEndpoint(t *testing.T) {
	for _, s := range []string{"a:1", "example.com:443", "a-b.c_d.example:65535", "r3---sn-x.example:80", "xn--mnchen-3ya.example:443", "1.example:1", "192.0.2.1:80", "[2001:db8::1]:443", "[::1]:1", "localhost:80"} {
		e, err := grant.ParseEndpoint(s)
		if err != nil || e.String() != s {
			t.Errorf("%q: got %q (%v)", s, e, err)
		}
	}
	for s, want := range map[string]string{
		"":                                "no port",
		"example.com":                     "no port",
		"[::1]":                           "no port",
		":443":                            "no host",
		"example.com:":                    "port",
		"example.com:0":                   "1 to 65535",
		"example.com:65536":               "1 to 65535",
		"example.com:0443":                "leading zeros",
		"example.com:+443":                "1 to 65535",
		"example.com:４４３":                 "1 to 65535",
		"example.com:443 ":                "1 to 65535",
		"example.com:*":                   "no",
		"*:443":                           "wildcard",
		"*.example.com:443":               "wildcard",
		"Example.com:443":                 `write "example.com"`,
		"example.com.:443":                `write "example.com"`,
		"example.com..:443":               "ends in a dot",
		".example.com:443":                "label of 0 bytes",
		"a..b:1":                          "label of 0 bytes",
		long(64) + ":1":                   "label of 64 bytes",
		strings.Repeat("a.", 127) + "a:1": "at most 253",
		"-a.example:1":                    "hyphen",
		"a-.example:1":                    "hyphen",
		"a b:1":                           "letters, digits",
		"a%2e:1":                          "letters, digits",
		"user@a:1":                        "letters, digits",
		"a/b:1":                           "letters, digits",
		"a\x00:1":                         "letters, digits",
		"https://a:1":                     "not a URL",
		"::1:80":                          "in brackets",
		"2001:db8::1:80":                  "in brackets",
		"[::1%eth0]:80":                   "zone",
		"[0:0::1]:80":                     "write [::1]",
		"[::1]x:80":                       "in brackets",
		"x[::1]:80":                       "in brackets",
		"[127.0.0.1]:80":                  "in brackets",
		"[::ffff:127.0.0.1]:80":           "write 127.0.0.1",
		"[::FFFF:7f00:1]:80":              "write 127.0.0.1",
		"127.1:80":                        "ends in a number",
		"2130706433:80":                   "ends in a number",
		"0177.0.0.1:80":                   "ends in a number",
		"0x7f.1:80":                       "ends in a number",
		"127.0.0.0x1:80":                  "ends in a number",
		"a.0x:80":                         "ends in a number",
		"256.0.0.1:80":                    "ends in a number",
		"1.2.3.4.5:80":                    "ends in a number",
		"a.1:80":                          "ends in a number",
		"xn--a:1":                         "A-label",
		"xn--.example:1":                  "label",
		"xn--zn7c.com:1":                  "A-label",
		"xn--example-:1":                  "label",
		"münchen.example:1":               `write "xn--mnchen-3ya.example"`,
		"ａ.example:1":                     `write "a.example"`,
	} {
		if e, err := grant.ParseEndpoint(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v; want an error with %q", s, e, err, want)
		}
	}
}

func TestNormalizeEndpoint(t *testing.T) {
	for in, want := range map[string]string{
		"EXAMPLE.com:443":           "example.com:443",
		"example.com.:443":          "example.com:443",
		"München.example:443":       "xn--mnchen-3ya.example:443",
		"mu\u0308nchen.example:443": "xn--mnchen-3ya.example:443", // decomposed
		"ｅｘａｍｐｌｅ。com:443":           "example.com:443",            // full width, ideographic full stop
		"faß.example:1":             "xn--fa-hia.example:1",       // non-transitional: not fass
		"XN--MNCHEN-3YA.example:1":  "xn--mnchen-3ya.example:1",
		"[2001:DB8:0:0::1]:443":     "[2001:db8::1]:443",
		"\u212Aelvin.example:1":     "kelvin.example:1",
	} {
		if e, err := grant.NormalizeEndpoint(in); err != nil || e.String() != want {
			t.Errorf("%q: got %q (%v), want %q", in, e, err, want)
		}
	}
	for _, in := range []string{"１２７.１:80", "０x7f.1:80", "a\u200d.example:1", "a\u2024b.:0", "ex..ample:1", "[::1%1]:1", "\u0378.example:1", "*.example:1", "a\u00a0b:1", "％00.example:1"} {
		if e, err := grant.NormalizeEndpoint(in); err == nil {
			t.Errorf("%q: got %q, want an error", in, e)
		}
	}
}

func TestMayEgress(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) {
		s.Network.Outbound = []string{"example.com:443", "xn--mnchen-3ya.example:443", "[2001:db8::1]:443", "127.0.0.1:80"}
	})
	for q, want := range map[string]bool{
		"example.com:443":            true,
		"EXAMPLE.COM:443":            true,
		"example.com.:443":           true,
		"example.com..:443":          false,
		"example.com:80":             false,
		"www.example.com:443":        false,
		"example.com.evil.test:443":  false,
		"evilexample.com:443":        false,
		"example.com":                false,
		"XN--MNCHEN-3YA.EXAMPLE:443": true,
		"münchen.example:443":        false,
		"ｅxample.com:443":            false,
		"exam\u212Ale.com:443":       false,
		"[2001:db8::1]:443":          true,
		"[2001:DB8::1]:443":          true,
		"[2001:db8:0::1]:443":        false,
		"[2001:db8::1%lo]:443":       false,
		"2001:db8::1:443":            false,
		"127.0.0.1:80":               true,
		"127.0.0.1.:80":              true,
		"[::ffff:127.0.0.1]:80":      false,
		"127.1:80":                   false,
		"localhost:80":               false,
		"0:80":                       false,
		"":                           false,
		"example.com:443\r\nHost: a": false,
		" example.com:443":           false,
	} {
		check(t, q, e.MayEgress(q), want, "")
	}
	if d := e.MayEgress("API.example.com:443"); d.Grant != "network.outbound: api.example.com:443" {
		t.Errorf("got the grant %q", d.Grant)
	}
	check(t, "name", e.MayResolve("Example.com."), true, "network.outbound")
	check(t, "other", e.MayResolve("evil.example.com"), false, "network.outbound")
	check(t, "address", e.MayResolve("127.0.0.1"), false, "no host name")
	check(t, "port", e.MayResolve("example.com:443"), false, "no host name")
}

// TestMayReach: a granted name never leads inwards, whatever its owner answers.
func TestMayReach(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) {
		s.Network.Outbound = []string{"example.com:443", "example.com:80", "10.0.0.1:443", "[fd00::1]:443", "1.1.1.1:443"}
	})
	for _, c := range []struct {
		endpoint, addr string
		want           bool
	}{
		{"example.com:443", "93.184.216.34", true},
		{"example.com:443", "::ffff:93.184.216.34", true},
		{"example.com:443", "2606:2800::1", true},
		{"example.com:443", "127.0.0.1", false},
		{"example.com:443", "10.0.0.1", true}, // granted itself, with this port
		{"example.com:443", "::ffff:10.0.0.1", true},
		{"example.com:80", "10.0.0.1", false},
		{"example.com:443", "10.0.0.2", false},
		{"example.com:443", "fd00::1", true},
		{"example.com:443", "fd00::2", false},
		{"example.com:443", "169.254.169.254", false},
		{"example.com:443", "64:ff9b::a9fe:a9fe", false},
		{"example.com:443", "64:ff9b::10.0.0.1", false},
		{"example.com:443", "fe80::1%eth0", false},
		{"other.example:443", "93.184.216.34", false},
		{"1.1.1.1:443", "1.1.1.1", true},
		{"1.1.1.1:443", "1.0.0.1", false},
		{"10.0.0.1:443", "10.0.0.1", true},
	} {
		check(t, c.endpoint+" at "+c.addr, e.MayReach(c.endpoint, netip.MustParseAddr(c.addr)), c.want, "")
	}
	check(t, "no address", e.MayReach("example.com:443", netip.Addr{}), false, "")
}

func TestAddrClass(t *testing.T) {
	for addr, want := range map[string]grant.AddrKind{
		"1.1.1.1":                   grant.AddrPublic,
		"100.63.255.255":            grant.AddrPublic,
		"172.32.0.1":                grant.AddrPublic,
		"2606:4700::1111":           grant.AddrPublic,
		"::ffff:1.1.1.1":            grant.AddrPublic,
		"64:ff9b::1.1.1.1":          grant.AddrPublic,
		"2002:101:101::1":           grant.AddrPublic,
		"127.0.0.1":                 grant.AddrLoopback,
		"127.255.255.255":           grant.AddrLoopback,
		"0.0.0.0":                   grant.AddrLoopback,
		"::":                        grant.AddrLoopback,
		"::1":                       grant.AddrLoopback,
		"::127.0.0.1":               grant.AddrLoopback,
		"::ffff:127.0.0.1":          grant.AddrLoopback,
		"::ffff:0:127.0.0.1":        grant.AddrLoopback,
		"64:ff9b::127.0.0.1":        grant.AddrLoopback,
		"64:ff9b:1::7f00:1":         grant.AddrLoopback,
		"2002:7f00:1::":             grant.AddrLoopback,
		"2001:0:7f00:1::":           grant.AddrLoopback, // Teredo server
		"2001:0:101:101::80ff:fffe": grant.AddrLoopback, // Teredo client, bits turned
		"2606::5efe:127.0.0.1":      grant.AddrLoopback, // ISATAP
		"2606::200:5efe:7f00:1":     grant.AddrLoopback,
		"10.1.2.3":                  grant.AddrPrivate,
		"172.16.0.1":                grant.AddrPrivate,
		"172.31.255.255":            grant.AddrPrivate,
		"192.168.0.1":               grant.AddrPrivate,
		"100.64.0.1":                grant.AddrPrivate,
		"fc00::1":                   grant.AddrPrivate,
		"fdff::1":                   grant.AddrPrivate,
		"fec0::1":                   grant.AddrPrivate,
		"2002:a00:1::":              grant.AddrPrivate,
		"169.254.0.1":               grant.AddrLinkLocal,
		"fe80::1":                   grant.AddrLinkLocal,
		"fe80::1%eth0":              grant.AddrLinkLocal,
		"febf::1":                   grant.AddrLinkLocal,
		"169.254.169.254":           grant.AddrMetadata,
		"::ffff:169.254.169.254":    grant.AddrMetadata,
		"64:ff9b::a9fe:a9fe":        grant.AddrMetadata,
		"2002:a9fe:a9fe::":          grant.AddrMetadata,
		"168.63.129.16":             grant.AddrMetadata,
		"100.100.100.200":           grant.AddrMetadata,
		"192.0.0.192":               grant.AddrMetadata,
		"fd00:ec2::254":             grant.AddrMetadata,
		"224.0.0.1":                 grant.AddrReserved,
		"255.255.255.255":           grant.AddrReserved,
		"240.0.0.1":                 grant.AddrReserved,
		"192.0.2.1":                 grant.AddrReserved,
		"198.18.0.1":                grant.AddrReserved,
		"198.51.100.1":              grant.AddrReserved,
		"203.0.113.1":               grant.AddrReserved,
		"192.0.0.1":                 grant.AddrReserved,
		"ff02::1":                   grant.AddrReserved,
		"2001:db8::1":               grant.AddrReserved,
		"3fff::1":                   grant.AddrReserved,
		"100::1":                    grant.AddrReserved,
		"4000::1":                   grant.AddrReserved,
		"5f00::1":                   grant.AddrReserved,
	} {
		if got := grant.AddrClass(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: got %v, want %v", addr, got, want)
		}
	}
	if got := grant.AddrClass(netip.Addr{}); got == grant.AddrPublic {
		t.Error("no address is public")
	}
}

func TestParseOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"https://example.com":     "https://example.com",
		"https://example.com:443": "https://example.com",
		"http://example.com:443":  "http://example.com:443",
		"http://[::1]:8080":       "http://[::1]:8080",
		"wss://127.0.0.1":         "wss://127.0.0.1",
	} {
		if o, err := grant.ParseOrigin(in); err != nil || o.String() != want {
			t.Errorf("%q: got %q (%v), want %q", in, o, err, want)
		}
	}
	for _, in := range []string{"", "*", "example.com", "https://", "https:example.com", "HTTPS://example.com", "https://Example.com", "https://example.com/", "https://example.com?", "https://example.com#", "https://a@example.com", "https://*.example.com", "https://example.com:", "https://example.com:0443", "https://example.com:*", "https://faß.example", "https://example.com.", "file://", "file://host", "data:", "null", "about:blank", "ftp://example.com", "https://[::1%1]", "https://::1", "https://127.1", "https://[0:0::1]", "https://example.com\n"} {
		if o, err := grant.ParseOrigin(in); err == nil {
			t.Errorf("%q: got %q, want an error", in, o)
		}
	}
}

func TestNormalizeOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"HTTPS://Example.COM:443/":  "https://example.com",
		"https://faß.example":       "https://xn--fa-hia.example",
		"http://[2001:DB8:0::1]:80": "http://[2001:db8::1]",
		"https://example.com.":      "https://example.com",
		"https://example.com:8443":  "https://example.com:8443",
	} {
		if o, err := grant.NormalizeOrigin(in); err != nil || o.String() != want {
			t.Errorf("%q: got %q (%v), want %q", in, o, err, want)
		}
	}
	for _, in := range []string{"https://a@b.example", "https://example.com/path", "https://*.example", "file:///", "example.com"} {
		if o, err := grant.NormalizeOrigin(in); err == nil {
			t.Errorf("%q: got %q, want an error", in, o)
		}
	}
}

func TestMayNavigate(t *testing.T) {
	e := enforcer(t, func(s *grant.Set) {
		s.Browser = grant.Browser{Enabled: true, Origins: []string{"https://example.com", "http://[::1]:8080", "https://10.0.0.1:8443"}}
	})
	for url, want := range map[string]bool{
		"https://example.com":                       true,
		"https://example.com/":                      true,
		"https://example.com:443/a/../b?c=d\\e#f":   true,
		"HTTPS://EXAMPLE.com?q":                     true,
		"https://example.com#@evil.test/":           true,
		"https://example.com/é":                     true,
		"http://[0:0::1]:8080/":                     true,
		"https://10.0.0.1:8443/":                    true,
		"https://10.1:8443/":                        false,
		"https://example.com./":                     false, // another origin
		"https://example.com:8443/":                 false,
		"http://example.com/":                       false,
		"https://example.com:0443/":                 true,
		"https://example.com:/":                     true,
		"https://user@example.com/":                 true,
		"https://user:p@ss@example.com:443/":        true,
		"https://evil.test@example.com":             true,  // a user with that name
		"https://a\\@example.com/":                  false, // a browser goes to a
		"https://example.com:99999/":                false,
		"https://example.com:00/":                   false,
		"https://example.com:4 43/":                 false,
		"https://example.com:443x/":                 false,
		"https://@/":                                false,
		"https://:443/":                             false,
		"https://example.com@evil.test/":            false,
		"https://example.com:443@evil.test/":        false,
		"https://example.com\\@evil.test/":          false,
		"https://evil.test\\@example.com/":          false,
		"https://evil.test#@example.com/":           false,
		"https://evil.test/https://example.com/":    false,
		"https://example.com%2eevil.test/":          false,
		"https://example.com%00.evil.test/":         false,
		"https://ex%61mple.com/":                    false,
		"https://ｅxample.com/":                      false,
		"https://example。com/":                      false,
		" https://example.com/":                     false,
		"https://example.com/\n":                    false,
		"https://exam\tple.com/":                    false,
		"https:/example.com/":                       false,
		"https:///example.com/":                     false,
		"https:example.com":                         false,
		"//example.com/":                            false,
		"/path":                                     false,
		"blob:https://example.com/x":                false,
		"view-source:https://example.com/":          false,
		"javascript:location='https://example.com'": false,
		"data:text/html,x":                          false,
		"file:///etc/passwd":                        false,
		"":                                          false,
	} {
		check(t, url, e.MayNavigate(url), want, "")
	}
}
