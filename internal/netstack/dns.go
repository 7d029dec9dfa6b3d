package netstack

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/joulebox/joulebox/grant"
)

// resolver answers the unit's questions. It knows the granted names, for each of
// which it has an address of the unit's own network, and it asks nobody: resolving a
// name is egress of its own (§5.3).
type resolver struct {
	names *names
	rules interface {
		MayResolve(name string) grant.Decision
	}
	deny func(Flow)
}

// ttl is as long as a program may remember an answer, in seconds; they stay true as
// long as the unit runs.
const ttl = 600

var errNotAQuestion = errors.New("dns: no question")

// Types and codes that dnsmessage has no name for.
const (
	optExtendedError  = 15 // the option of extended errors (RFC 8914)
	edeProhibited     = 18
	maxQuery          = 4 << 10
	maxAnswerBytes    = 512
	reverseV4         = ".in-addr.arpa"
	reverseV6         = ".ip6.arpa"
	ednsPayloadLength = 1232
)

// answer gives the reply to a message. The error is for what deserves none.
func (r *resolver) answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil || h.Response {
		return nil, errNotAQuestion // never answer an answer
	}
	reply := reply{header: dnsmessage.Header{ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}}
	switch {
	case h.OpCode != 0:
		reply.header.RCode = dnsmessage.RCodeNotImplemented
	case h.Truncated || !reply.parse(&p):
		reply.header.RCode = dnsmessage.RCodeFormatError
	default:
		r.resolve(&reply)
	}
	return reply.pack()
}

// reply is an answer in the making.
type reply struct {
	header     dnsmessage.Header
	question   *dnsmessage.Question
	edns       bool
	prohibited bool
	body       dnsmessage.ResourceBody
}

// parse reads one question, and nothing else but the sign that the other side knows
// EDNS.
func (r *reply) parse(p *dnsmessage.Parser) bool {
	questions, err := p.AllQuestions()
	if err != nil || len(questions) != 1 {
		return false
	}
	r.question = &questions[0]
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return false
	}
	for {
		h, err := p.AdditionalHeader()
		switch {
		case errors.Is(err, dnsmessage.ErrSectionDone):
			return true
		case err != nil:
			return false
		}
		r.edns = r.edns || h.Type == dnsmessage.TypeOPT
		if p.SkipAdditional() != nil {
			return false
		}
	}
}

// resolve decides on a question and answers it.
func (r *resolver) resolve(to *reply) {
	name := strings.TrimSuffix(strings.ToLower(to.question.Name.String()), ".")
	switch {
	case to.question.Class != dnsmessage.ClassINET:
		to.header.RCode = dnsmessage.RCodeRefused
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		to.address([2]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()})
	case r.reverse(name, to):
	default:
		r.forward(name, to)
	}
}

// forward answers for a name that may be resolved. It has addresses and nothing
// else: other records could lead around them, as those of HTTPS do.
func (r *resolver) forward(name string, to *reply) {
	d := r.rules.MayResolve(name)
	addrs, known := r.names.of(name, d.Allowed)
	switch {
	case d.Allowed && known:
		to.address(addrs)
	case r.service(name):
		to.header.RCode = dnsmessage.RCodeNameError // as are those of a service there
	default:
		if d.Allowed {
			d = grant.Decision{Reason: "the name has no address in the unit's network"}
		}
		to.prohibited = true
		to.header.RCode = dnsmessage.RCodeNameError
		r.deny(Flow{Protocol: "dns", Endpoint: name, Decision: d})
	}
}

// service reports whether a name is that of a service of a granted name, as in
// _https._tcp.example.com. The name may be resolved; it has no such records here.
func (r *resolver) service(name string) bool {
	for strings.HasPrefix(name, "_") {
		_, name, _ = strings.Cut(name, ".")
	}
	_, known := r.names.of(name, false)
	return known && r.rules.MayResolve(name).Allowed
}

// reverse answers for addresses of the unit's own network, of which it gives
// nothing away. The rest is names like any other.
func (r *resolver) reverse(name string, to *reply) bool {
	a, ok := reverseAddr(name)
	if !ok || !rangeV4.Contains(a) && !rangeV6.Contains(a) && !a.IsLoopback() {
		return false
	}
	host, ok := r.names.host(a)
	switch {
	case !ok:
		to.header.RCode = dnsmessage.RCodeNameError
	case to.question.Type == dnsmessage.TypePTR:
		if target, err := dnsmessage.NewName(host + "."); err == nil {
			to.body = &dnsmessage.PTRResource{PTR: target}
		}
	}
	return true
}

// reverseAddr reads the name that an address has for PTR.
func reverseAddr(name string) (netip.Addr, bool) {
	if labels, ok := strings.CutSuffix(name, reverseV4); ok {
		parts := strings.Split(labels, ".")
		if len(parts) != 4 {
			return netip.Addr{}, false
		}
		a, err := netip.ParseAddr(parts[3] + "." + parts[2] + "." + parts[1] + "." + parts[0])
		return a, err == nil
	}
	labels, ok := strings.CutSuffix(name, reverseV6)
	if !ok || len(labels) != 63 {
		return netip.Addr{}, false
	}
	var text []byte
	for i := 62; i >= 0; i -= 2 {
		if text = append(text, labels[i]); len(text)%5 == 4 && i > 0 {
			text = append(text, ':')
		}
		if i > 0 && labels[i-1] != '.' {
			return netip.Addr{}, false
		}
	}
	a, err := netip.ParseAddr(string(text))
	return a, err == nil
}

// address answers with the address of the family that was asked for.
func (r *reply) address(a [2]netip.Addr) {
	switch r.question.Type {
	case dnsmessage.TypeA:
		r.body = &dnsmessage.AResource{A: a[0].As4()}
	case dnsmessage.TypeAAAA:
		r.body = &dnsmessage.AAAAResource{AAAA: a[1].As16()}
	}
}

func (r *reply) pack() ([]byte, error) {
	b := dnsmessage.NewBuilder(make([]byte, 0, maxAnswerBytes), r.header)
	b.EnableCompression()
	if r.question != nil {
		if err := errors.Join(b.StartQuestions(), b.Question(*r.question), b.StartAnswers()); err != nil {
			return nil, err
		}
		if err := r.answers(&b); err != nil {
			return nil, err
		}
	}
	if r.edns {
		if err := errors.Join(b.StartAdditionals(), b.OPTResource(r.options())); err != nil {
			return nil, err
		}
	}
	return b.Finish()
}

func (r *reply) answers(b *dnsmessage.Builder) error {
	h := dnsmessage.ResourceHeader{Name: r.question.Name, Class: dnsmessage.ClassINET, TTL: ttl}
	switch body := r.body.(type) {
	case *dnsmessage.AResource:
		return b.AResource(h, *body)
	case *dnsmessage.AAAAResource:
		return b.AAAAResource(h, *body)
	case *dnsmessage.PTRResource:
		return b.PTRResource(h, *body)
	}
	return nil
}

// options says why a name that may exist is answered as if it didn't: programs try
// a refusal again, often for long, and this is final.
func (r *reply) options() (h dnsmessage.ResourceHeader, o dnsmessage.OPTResource) {
	_ = h.SetEDNS0(ednsPayloadLength, r.header.RCode, false)
	if r.prohibited {
		text := "not granted to this unit"
		o.Options = []dnsmessage.Option{{Code: optExtendedError, Data: append([]byte{0, edeProhibited}, text...)}}
	}
	return h, o
}
