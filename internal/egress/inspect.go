package egress

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"

	"github.com/joulebox/joulebox/grant"
)

// Inspector reads along with what a unit sends on a connection, for a host that it
// names visibly: in TLS's ClientHello, in the requests of HTTP/1, in those of
// HTTP/2 without encryption. Many hosts share an address, so who is reached is
// decided by that name too. Bytes are looked at before they go on, none is held
// back: a server acts on a name only once it has the message whole, and the piece
// with another name in it never goes out.
type Inspector struct {
	host     string // as the grant names it, without brackets
	loopback bool   // it is an address that localhost names
	reader   reader // nil: nothing to read any more
}

// reader follows one protocol. It gives what it didn't read, where what follows is
// another reader's, and that reader; nil for none.
type reader interface {
	read(p []byte) (rest []byte, next reader, err error)
}

// NewInspector is for what goes to a granted endpoint.
func NewInspector(endpoint string) *Inspector {
	host := strings.TrimSuffix(strings.ToLower(hostOf(endpoint)), ".")
	a, err := netip.ParseAddr(host)
	v := &Inspector{host: host, loopback: err == nil && a.IsLoopback()}
	v.reader = &opening{v}
	return v
}

// Inspect looks at the next bytes, before they are sent. The error is a *Denied, if
// they name another host or hide what they name in what servers read differently;
// they must not be sent then, nor anything after them.
func (v *Inspector) Inspect(p []byte) error {
	for len(p) > 0 && v.reader != nil {
		rest, next, err := v.reader.read(p)
		if err != nil {
			return unwelcome(err)
		}
		p, v.reader = rest, next
	}
	return nil
}

func unwelcome(err error) error { return &Denied{grant.Decision{Reason: err.Error()}} }

// named gives an error for a name that isn't the granted host's.
func (v *Inspector) named(what string, name []byte) error {
	n := strings.TrimSuffix(string(bytes.ToLower(name)), ".")
	if n != v.host && !(n == "localhost" && v.loopback) {
		return fmt.Errorf("%s names %.300q, want the granted host %q", what, name, v.host)
	}
	return nil
}

// authority is named for a host that a port may follow.
func (v *Inspector) authority(what string, value []byte) error {
	host := value
	if i := bytes.LastIndexByte(value, ':'); i > bytes.LastIndexByte(value, ']') {
		for _, c := range value[i+1:] {
			if c < '0' || c > '9' {
				return fmt.Errorf("%s has %.300q, want a host and a port", what, value)
			}
		}
		host = value[:i]
	}
	if inner, ok := bytes.CutPrefix(host, []byte("[")); ok {
		if inner, ok = bytes.CutSuffix(inner, []byte("]")); ok {
			host = inner
		}
	}
	return v.named(what, host)
}

// opening tells by its first byte what a connection carries.
type opening struct{ *Inspector }

func (o *opening) read(p []byte) ([]byte, reader, error) {
	switch {
	case p[0] == recordHandshake:
		return p, &tlsReader{Inspector: o.Inspector}, nil
	case isToken(p[0]) || p[0] == '\r' || p[0] == '\n':
		return p, newHTTPReader(o.Inspector), nil
	}
	return nil, nil, nil
}

// hostOf is the host of an endpoint, without the brackets of an address.
func hostOf(endpoint string) string {
	host := endpoint[:max(strings.LastIndexByte(endpoint, ':'), 0)]
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
