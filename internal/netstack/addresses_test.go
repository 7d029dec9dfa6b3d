package netstack

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/grant"
)

// TestNames: the same grants always make the same network, whatever their order, and
// no address of it is that of something else.
func TestNames(t *testing.T) {
	one, err := newNames([]string{"b.example:1", "a.example:2", "198.18.1.1:80", "a.example:3"})
	if err != nil {
		t.Fatal(err)
	}
	two, err := newNames([]string{"a.example:3", "198.18.1.1:80", "a.example:2", "b.example:1"})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("got %v and %v, want the same", one, two)
	}
	for host, want := range map[string]string{"a.example": "198.18.1.2", "b.example": "198.18.1.3"} {
		got := one.addrs[host]
		if got[0].String() != want || one.hosts[got[0]] != host || one.hosts[got[1]] != host || !rangeV6.Contains(got[1]) {
			t.Errorf("%s: got %v, want %s", host, got, want)
		}
	}
	for to, want := range map[string]string{
		"198.18.1.2:443":            "a.example:443",
		"198.18.1.1:80":             "198.18.1.1:80",
		"[fd6a:6f75:6c65:1::1]:443": "a.example:443",
		"[2001:db8::1]:443":         "[2001:db8::1]:443",
	} {
		if got := one.endpoint(netip.MustParseAddrPort(to)); got != want {
			t.Errorf("%s: got %s, want %s", to, got, want)
		}
	}
	for _, bad := range []string{"198.18.0.1:53", "[fd6a:6f75:6c65::2]:1", "nonsense"} {
		if _, err := newNames([]string{bad}); err == nil || !strings.Contains(err.Error(), "outbound[0]") {
			t.Errorf("%s: got %v, want it refused by its place", bad, err)
		}
	}
}

// TestRangesAreNobodys: no granted name can lead to the real hosts at the addresses
// that names have inside.
func TestRangesAreNobodys(t *testing.T) {
	for _, a := range []netip.Addr{unitV4, unitV6, resolverV4, resolverV6, firstV4, firstV6} {
		if grant.AddrClass(a) == grant.AddrPublic {
			t.Errorf("%v is public", a)
		}
	}
}

func TestSetupConfig(t *testing.T) {
	b, err := SetupConfig([]string{"a.example:1", "127.0.0.1:5432", "10.0.0.1:1", "[::1]:80"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSetup(b)
	if err != nil || fmt.Sprint(s.Loopback) != "[127.0.0.1:5432 [::1]:80]" {
		t.Errorf("got %v, %v, want those on loopback", s.Loopback, err)
	}
	for _, bad := range []string{"", "{", `{"Loopback":["10.0.0.1:1"]}`, `{"Loopback":["x"]}`} {
		if s, err := readSetup([]byte(bad)); err == nil {
			t.Errorf("%q became %v", bad, s)
		}
	}
	if _, err := SetupConfig([]string{"x"}); err == nil {
		t.Error("a list that is none was accepted")
	}
}

// packet makes one of IPv4 or IPv6, without a payload that would mean anything.
func packet(protocol byte, from, to string) []byte {
	a, b := netip.MustParseAddr(from), netip.MustParseAddr(to)
	var head []byte
	if a.Is4() {
		head = []byte{0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, protocol, 0, 0}
	} else {
		head = []byte{0x60, 0, 0, 0, 0, 20, protocol, 64}
	}
	return append(append(append(head, a.AsSlice()...), b.AsSlice()...), make([]byte, 40)...)
}

func TestCleanPackets(t *testing.T) {
	edited := func(at int, v byte) []byte {
		p := packet(6, "198.18.0.2", "1.1.1.1")
		p[at] = v
		return p
	}
	for name, c := range map[string]struct {
		packet []byte
		want   bool
	}{
		"TCP":               {packet(6, "198.18.0.2", "1.1.1.1"), true},
		"UDP":               {packet(17, "198.18.0.2", "1.1.1.1"), true},
		"TCP over IPv6":     {packet(6, "fd6a:6f75:6c65::2", "2001:db8::1"), true},
		"an echo":           {packet(1, "198.18.0.2", "198.18.0.1"), false},
		"an echo over IPv6": {packet(58, "fd6a:6f75:6c65::2", "fd6a:6f75:6c65::1"), false},
		"IGMP":              {packet(2, "198.18.0.2", "224.0.0.22"), false},
		"SCTP":              {packet(132, "198.18.0.2", "1.1.1.1"), false},
		"an extension":      {packet(0, "fd6a:6f75:6c65::2", "2001:db8::1"), false},
		"a fragment of 6":   {packet(44, "fd6a:6f75:6c65::2", "2001:db8::1"), false},
		"another source":    {packet(6, "198.18.0.3", "1.1.1.1"), false},
		"a router's source": {packet(6, "fe80::1", "2001:db8::1"), false},
		"a group":           {packet(17, "198.18.0.2", "239.1.1.1"), false},
		"a group of 6":      {packet(17, "fd6a:6f75:6c65::2", "ff02::fb"), false},
		"loopback":          {packet(6, "198.18.0.2", "127.0.0.1"), false},
		"nowhere":           {packet(6, "198.18.0.2", "0.0.0.0"), false},
		"options":           {edited(0, 0x46), false},
		"more fragments":    {edited(6, 0x20), false},
		"a later fragment":  {edited(7, 1), false},
		"another version":   {edited(0, 0x55), false},
		"half a header":     {edited(0, 0x45)[:19], false},
		"half of IPv6's":    {packet(6, "fd6a:6f75:6c65::2", "2001:db8::1")[:39], false},
		"nothing":           {nil, false},
	} {
		if got := clean(c.packet); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestOpenNames: in an open network a name gets its addresses when it is asked for,
// if it may be resolved, and keeps them.
func TestOpenNames(t *testing.T) {
	n, err := newNames([]string{"a.example:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, known := n.of("b.example", true); known {
		t.Error("got an address in a network that isn't open")
	}
	n.open = true
	for _, name := range []string{"_http._tcp.a.example", "192.0.2.1", "no name"} {
		if a, known := n.of(name, true); known {
			t.Errorf("%q: got %v", name, a)
		}
	}
	if _, known := n.of("b.example", false); known {
		t.Error("got an address for what may not be resolved")
	}
	a, _ := n.of("a.example", true)
	b, known := n.of("b.example", true)
	if again, _ := n.of("b.example", false); !known || a == b || again != b {
		t.Errorf("got %v, %v, %v", a, b, again)
	}
	if host, _ := n.host(b[1]); host != "b.example" {
		t.Errorf("got %q", host)
	}
}
