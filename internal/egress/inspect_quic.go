package egress

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DatagramInspector reads along with the datagrams of one exchange. The first packets of
// QUIC are sealed with keys that follow from their own header (RFC 9001, 5.2), so
// the server name in them is visible to everyone on the way. Datagrams of a
// connection are held until its ClientHello is there whole, since their pieces may
// take any order and any source port.
type DatagramInspector struct {
	look   *Inspector
	strict bool // no other version of QUIC passes
	conns  []*quicConn
	held   int // bytes of datagrams that are held
}

// quicConn is the client's side of a connection.
type quicConn struct {
	keys  quicKeys
	hello *tlsReader
	data  []byte // the crypto stream from its beginning
	have  []bool
	fed   int
	held  [][]byte
}

const (
	// quicConns and quicHeld bound what one exchange makes the host remember.
	quicConns = 4
	quicHeld  = 32 << 10
	quicData  = 16 << 10
	// quicPort is where QUIC is at home.
	quicPort = ":443"
)

type quicVersion struct {
	salt    []byte
	label   string
	initial byte // the type of the packet
}

// quicVersions are of RFC 9000 and RFC 9369.
var quicVersions = map[uint32]*quicVersion{
	0x00000001: {[]byte("\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"), "quic ", 0},
	0x6b3343cf: {[]byte("\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9"), "quicv2 ", 1},
}

var errQUIC = errors.New("QUIC: got a first packet that can't be read, so that its server name is hidden")

// NewDatagramInspector is for what goes to a granted endpoint from one port.
func NewDatagramInspector(endpoint string) *DatagramInspector {
	return &DatagramInspector{look: NewInspector(endpoint), strict: strings.HasSuffix(endpoint, quicPort)}
}

// Inspect looks at the next datagram, and gives those that may be sent now. The error
// is a *Denied, as that of [Inspector.Inspect].
func (q *DatagramInspector) Inspect(p []byte) ([][]byte, error) {
	list, err := q.inspect(p)
	if err != nil {
		return nil, unwelcome(err)
	}
	return list, nil
}

func (q *DatagramInspector) inspect(p []byte) ([][]byte, error) {
	conn, err := q.connection(p)
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return [][]byte{p}, nil
	}
	if conn.whole() {
		list := append(conn.held, p)
		for _, h := range conn.held {
			q.held -= len(h)
		}
		conn.held = nil
		return list, nil
	}
	if q.held += len(p); q.held > quicHeld {
		return nil, fmt.Errorf("QUIC: got more than %d bytes of datagrams without a whole ClientHello", quicHeld)
	}
	conn.held = append(conn.held, bytes.Clone(p))
	return nil, nil
}

// connection reads a datagram's packets, which are of one connection. It gives nil
// where none of them begins one.
func (q *DatagramInspector) connection(p []byte) (conn *quicConn, err error) {
	for len(p) > 0 && p[0]&0x80 != 0 {
		packet, after, err := q.packet(p)
		if err != nil {
			return nil, err
		}
		if packet == nil {
			break // nothing that is QUIC
		}
		p = after
		if !packet.initial {
			continue
		}
		c, err := q.crypto(packet)
		if err != nil {
			return nil, err
		}
		if conn != nil && conn != c {
			return nil, errQUIC
		}
		conn = c
	}
	return conn, nil
}

// whole reports whether everything that was sent could be read.
func (c *quicConn) whole() bool {
	return c.fed > 0 && c.fed == len(c.data) && len(c.hello.message) == 0 && c.hello.skip == 0
}

type quicPacket struct {
	initial bool
	version *quicVersion
	dcid    []byte
	bytes   []byte // the packet
	number  int    // where its number begins
}

// packet reads the header of a packet with a long one. It gives nil for what is no
// QUIC.
func (q *DatagramInspector) packet(b []byte) (*quicPacket, []byte, error) {
	f := field(b)
	head, ok := f.take(5)
	var version *quicVersion
	if ok {
		version = quicVersions[binary.BigEndian.Uint32(head[1:])]
	}
	if version == nil {
		if q.strict {
			return nil, nil, errors.New("QUIC: got a version other than 1 and 2")
		}
		return nil, nil, nil
	}
	dcid, ok := f.vector(1)
	scid, ok2 := f.vector(1)
	if !ok || !ok2 || len(dcid) > 20 || len(scid) > 20 {
		return nil, nil, errQUIC
	}
	p := &quicPacket{version: version, dcid: dcid, initial: head[0]>>4&3 == version.initial}
	if p.initial {
		n, ok := f.varint()
		if _, ok2 := f.take(n); !ok || !ok2 {
			return nil, nil, errQUIC
		}
	}
	n, ok := f.varint()
	p.number = len(b) - len(f)
	if _, ok2 := f.take(n); !ok || !ok2 {
		return nil, nil, errQUIC
	}
	p.bytes = b[:p.number+n]
	return p, f, nil
}

// varint reads QUIC's numbers; one beyond a datagram's size reads as no number.
func (f *field) varint() (int, bool) {
	if len(*f) == 0 {
		return 0, false
	}
	b, ok := f.take(1 << ((*f)[0] >> 6))
	if !ok {
		return 0, false
	}
	v := uint64(b[0] & 0x3f)
	for _, c := range b[1:] {
		v = v<<8 | uint64(c)
	}
	return int(v), v <= 1<<20
}

// crypto opens a first packet and takes what it has of the hello.
func (q *DatagramInspector) crypto(p *quicPacket) (*quicConn, error) {
	for _, c := range q.conns {
		if frames, ok := c.keys.open(p); ok {
			return c, c.frames(frames)
		}
	}
	keys, err := newQUICKeys(p.version, p.dcid)
	if err != nil {
		return nil, err
	}
	frames, ok := keys.open(p)
	if !ok {
		return nil, errQUIC
	}
	if len(q.conns) == quicConns {
		return nil, fmt.Errorf("QUIC: got more than %d connections from one port", quicConns)
	}
	c := &quicConn{keys: keys, hello: &tlsReader{Inspector: q.look}}
	q.conns = append(q.conns, c)
	return c, c.frames(frames)
}

// frames reads those that first packets may have (RFC 9000, 17.2.2).
func (c *quicConn) frames(b []byte) error {
	f := field(b)
	for len(f) > 0 {
		kind, ok := f.varint()
		switch {
		case !ok:
			return errQUIC
		case kind == 0, kind == 1: // padding, ping
		case kind == 2, kind == 3:
			ok = f.ack(kind == 3)
		case kind == 6:
			at, ok1 := f.varint()
			n, ok2 := f.varint()
			piece, ok3 := f.take(n)
			if ok = ok1 && ok2 && ok3; ok {
				if err := c.stream(at, piece); err != nil {
					return err
				}
			}
		case kind == 0x1c: // the end of the connection
			return nil
		default:
			ok = false
		}
		if !ok {
			return errQUIC
		}
	}
	return nil
}

func (f *field) ack(counts bool) bool {
	numbers := 4
	var ranges int
	for i := 0; i < numbers; i++ {
		v, ok := f.number()
		if !ok {
			return false
		}
		if i == 2 {
			if ranges = int(min(v, 1<<16)); ranges == 1<<16 {
				return false
			}
			numbers += 2 * ranges
			if counts {
				numbers += 3
			}
		}
	}
	return true
}

// number is a varint of any size.
func (f *field) number() (uint64, bool) {
	if len(*f) == 0 {
		return 0, false
	}
	b, ok := f.take(1 << ((*f)[0] >> 6))
	if !ok {
		return 0, false
	}
	v := uint64(b[0] & 0x3f)
	for _, c := range b[1:] {
		v = v<<8 | uint64(c)
	}
	return v, true
}

// stream adds a piece, and reads as far as there is no gap.
func (c *quicConn) stream(at int, piece []byte) error {
	end := at + len(piece)
	if end > quicData {
		return fmt.Errorf("QUIC: got a ClientHello of more than %d bytes", quicData)
	}
	if n := end - len(c.data); n > 0 {
		c.data = append(c.data, make([]byte, n)...)
		c.have = append(c.have, make([]bool, n)...)
	}
	for i, b := range piece {
		if c.have[at+i] && c.data[at+i] != b {
			return errors.New("QUIC: got two contents of one place in a ClientHello")
		}
		c.data[at+i], c.have[at+i] = b, true
	}
	from := c.fed
	if gap := slices.Index(c.have[from:], false); gap >= 0 {
		c.fed += gap
	} else {
		c.fed = len(c.data)
	}
	_, err := c.hello.handshake(c.data[from:c.fed])
	return err
}

// quicKeys are a client's for its first packets.
type quicKeys struct {
	aead   cipher.AEAD
	iv     []byte
	header cipher.Block
}

func newQUICKeys(v *quicVersion, dcid []byte) (k quicKeys, err error) {
	key, iv, header, err := quicSecrets(v, dcid)
	if err != nil {
		return k, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return k, err
	}
	k.iv = iv
	if k.header, err = aes.NewCipher(header); err != nil {
		return k, err
	}
	k.aead, err = cipher.NewGCM(block)
	return k, err
}

// quicSecrets follow from the connection's first identifier (RFC 9001, 5.2).
func quicSecrets(v *quicVersion, dcid []byte) (key, iv, header []byte, err error) {
	secret, err := hkdf.Extract(sha256.New, dcid, v.salt)
	if err != nil {
		return nil, nil, nil, err
	}
	var errs []error
	expand := func(label string, n int) []byte {
		label = "tls13 " + label
		info := append([]byte{byte(n >> 8), byte(n), byte(len(label))}, label...)
		out, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), n)
		errs = append(errs, err)
		return out
	}
	secret = expand("client in", sha256.Size)
	key, iv, header = expand(v.label+"key", 16), expand(v.label+"iv", 12), expand(v.label+"hp", 16)
	return key, iv, header, errors.Join(errs...)
}

// open gives a packet's frames.
func (k quicKeys) open(p *quicPacket) ([]byte, bool) {
	const sample = 16
	if len(p.bytes) < p.number+4+sample {
		return nil, false
	}
	var mask [aes.BlockSize]byte
	k.header.Encrypt(mask[:], p.bytes[p.number+4:][:sample])
	b := bytes.Clone(p.bytes)
	b[0] ^= mask[0] & 0x0f
	size := int(b[0]&3) + 1
	nonce := bytes.Clone(k.iv)
	for i := range size {
		b[p.number+i] ^= mask[1+i]
		// A client's first packets have small numbers, so none was cut.
		nonce[len(nonce)-size+i] ^= b[p.number+i]
	}
	head := p.number + size
	frames, err := k.aead.Open(nil, nonce, b[head:], b[:head])
	return frames, err == nil
}
