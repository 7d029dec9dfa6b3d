package netstack

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func testResolver(t testing.TB, outbound ...string) (*resolver, *[]Flow) {
	t.Helper()
	n, err := newNames(outbound)
	if err != nil {
		t.Fatal(err)
	}
	var denied []Flow
	return &resolver{n, enforcer(t, outbound, false), func(f Flow) { denied = append(denied, f) }}, &denied
}

// question packs one, with EDNS.
func question(t testing.TB, name string, kind dnsmessage.Type, class dnsmessage.Class) []byte {
	t.Helper()
	n, err := dnsmessage.NewName(name)
	if err != nil {
		t.Fatal(err)
	}
	var edns dnsmessage.ResourceHeader
	if err := edns.SetEDNS0(1232, 0, false); err != nil {
		t.Fatal(err)
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 4711, RecursionDesired: true},
		Questions:   []dnsmessage.Question{{Name: n, Type: kind, Class: class}},
		Additionals: []dnsmessage.Resource{{Header: edns, Body: &dnsmessage.OPTResource{}}}}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unpack(t testing.TB, b []byte) dnsmessage.Message {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	return m
}

// said is an answer in short.
func said(m dnsmessage.Message) string {
	text := strings.TrimPrefix(m.RCode.String(), "RCode")
	for _, a := range m.Answers {
		switch body := a.Body.(type) {
		case *dnsmessage.AResource:
			text += " " + netip.AddrFrom4(body.A).String()
		case *dnsmessage.AAAAResource:
			text += " " + netip.AddrFrom16(body.AAAA).String()
		case *dnsmessage.PTRResource:
			text += " " + body.PTR.String()
		default:
			text += fmt.Sprintf(" %T", body)
		}
	}
	return text
}

func TestResolver(t *testing.T) {
	const in = dnsmessage.ClassINET
	r, denied := testResolver(t, "b.example:443", "a.example:443", "a.example:80", "192.0.2.1:80", "_svc.c.example:1")
	const ptr6 = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.5.6.c.6.5.7.f.6.a.6.d.f.ip6.arpa."
	for _, c := range []struct {
		name   string
		kind   dnsmessage.Type
		class  dnsmessage.Class
		want   string
		denied bool
	}{
		{"a.example.", dnsmessage.TypeA, in, "Success 198.18.1.2", false},
		{"A.eXample.", dnsmessage.TypeA, in, "Success 198.18.1.2", false},
		{"a.example.", dnsmessage.TypeAAAA, in, "Success fd6a:6f75:6c65:1::2", false},
		{"b.example.", dnsmessage.TypeA, in, "Success 198.18.1.3", false},
		{"_svc.c.example.", dnsmessage.TypeA, in, "Success 198.18.1.1", false},
		{"a.example.", 65, in, "Success", false}, // HTTPS
		{"a.example.", dnsmessage.TypeMX, in, "Success", false},
		{"a.example.", dnsmessage.TypeTXT, in, "Success", false},
		{"a.example.", dnsmessage.TypeALL, in, "Success", false},
		{"_https._tcp.a.example.", dnsmessage.TypeSRV, in, "NameError", false},
		{"_https._tcp.d.example.", dnsmessage.TypeSRV, in, "NameError", true},
		{"www.a.example.", dnsmessage.TypeA, in, "NameError", true},
		{"example.", dnsmessage.TypeA, in, "NameError", true},
		{".", dnsmessage.TypeNS, in, "NameError", true},
		{"secret-data.evil.example.", dnsmessage.TypeTXT, in, "NameError", true},
		{"192.0.2.1.", dnsmessage.TypeA, in, "NameError", true},
		{"a.example.", dnsmessage.TypeA, dnsmessage.ClassCHAOS, "Refused", false},
		{"version.bind.", dnsmessage.TypeTXT, dnsmessage.ClassCHAOS, "Refused", false},
		{"localhost.", dnsmessage.TypeA, in, "Success 127.0.0.1", false},
		{"x.localhost.", dnsmessage.TypeAAAA, in, "Success ::1", false},
		{"2.1.18.198.in-addr.arpa.", dnsmessage.TypePTR, in, "Success a.example.", false},
		{"2.1.18.198.in-addr.arpa.", dnsmessage.TypeA, in, "Success", false},
		{ptr6, dnsmessage.TypePTR, in, "Success _svc.c.example.", false},
		{"2.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, in, "NameError", false},
		{"1.0.0.127.in-addr.arpa.", dnsmessage.TypePTR, in, "NameError", false},
		{"8.8.8.8.in-addr.arpa.", dnsmessage.TypePTR, in, "NameError", true},
		{"1.1.1.in-addr.arpa.", dnsmessage.TypePTR, in, "NameError", true},
		{"x" + ptr6[1:], dnsmessage.TypePTR, in, "NameError", true},
	} {
		*denied = nil
		q := question(t, c.name, c.kind, c.class)
		b, err := r.answer(q)
		if err != nil {
			t.Errorf("%s %v: %v", c.name, c.kind, err)
			continue
		}
		m := unpack(t, b)
		if got := said(m); got != c.want || (len(*denied) == 1) != c.denied {
			t.Errorf("%s %v: got %q and the denials %+v, want %q, denied %v", c.name, c.kind, got, *denied, c.want, c.denied)
		}
		if !m.Response || m.ID != 4711 || len(m.Questions) != 1 || m.Questions[0].Name.String() != c.name {
			t.Errorf("%s: got the header %+v and the question %v, want those that were asked", c.name, m.Header, m.Questions)
		}
		if c.denied && !bytes.Contains(b, []byte("\x00\x12not granted to this unit")) {
			t.Errorf("%s: the answer doesn't say that it is prohibited", c.name)
		}
	}
}

func TestResolverOnBadQuestions(t *testing.T) {
	r, denied := testResolver(t, "a.example:443")
	good := question(t, "a.example.", dnsmessage.TypeA, dnsmessage.ClassINET)
	edit := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for _, c := range []struct {
		name  string
		query []byte
		want  string // "" is no answer
	}{
		{"nothing", nil, ""},
		{"half a header", good[:11], ""},
		{"an answer", edit(2, 0x80), ""},
		{"another operation", edit(2, 5<<3), "NotImplemented"},
		{"cut off", edit(2, 2), "FormatError"},
		{"no question", edit(5, 0), "FormatError"},
		{"two questions", edit(5, 2), "FormatError"},
		{"half a name", good[:15], "FormatError"},
		{"a name that is itself", edit(12, 0xc0), "FormatError"},
		{"half of what follows", good[:len(good)-1], "FormatError"},
	} {
		b, err := r.answer(c.query)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%s: got the answer %x, want none", c.name, b)
		case c.want != "" && (err != nil || said(unpack(t, b)) != c.want):
			t.Errorf("%s: got %x, %v, want %s", c.name, b, err, c.want)
		}
	}
	if len(*denied) > 0 {
		t.Errorf("got the denials %+v for no questions", *denied)
	}
}

// FuzzResolver: an answer is one, to the question that was asked, and no longer than
// any client takes; addresses are those of granted names.
func FuzzResolver(f *testing.F) {
	f.Add(question(f, "a.example.", dnsmessage.TypeA, dnsmessage.ClassINET))
	f.Add(question(f, "1.1.18.198.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.ClassINET))
	f.Add(question(f, "x.evil.example.", dnsmessage.TypeTXT, dnsmessage.ClassINET))
	r, denied := testResolver(f, "a.example:443")
	f.Fuzz(func(t *testing.T, query []byte) {
		*denied = nil
		b, err := r.answer(query)
		if err != nil {
			return
		}
		m := unpack(t, b)
		if !m.Response || len(query) < 2 || m.ID != uint16(query[0])<<8|uint16(query[1]) || len(b) > maxAnswerBytes {
			t.Errorf("%x: got %x", query, b)
		}
		for _, a := range m.Answers {
			name := strings.ToLower(a.Header.Name.String())
			if name != "a.example." && !strings.HasSuffix(name, "localhost.") && !strings.HasSuffix(name, ".arpa.") || len(*denied) > 0 {
				t.Errorf("%x: got %v", query, m)
			}
		}
	})
}

func FuzzReverse(f *testing.F) {
	f.Add("2.1.18.198.in-addr.arpa")
	f.Add("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.5.6.c.6.5.7.f.6.a.6.d.f.ip6.arpa")
	f.Fuzz(func(t *testing.T, name string) {
		if a, ok := reverseAddr(name); ok && !a.IsValid() {
			t.Errorf("%q became %v", name, a)
		}
	})
}
