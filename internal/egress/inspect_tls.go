package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Of RFC 8446.
const (
	recordChangeCipher = 20
	recordAlert        = 21
	recordHandshake    = 22
	recordData         = 23

	clientHello     = 1
	extServerName   = 0
	nameTypeHost    = 0
	maxRecord       = 1<<14 + 2048
	maxHello        = 64 << 10
	recordHeader    = 5
	handshakeHeader = 4
)

// tlsReader reads the records of a TLS client until they are encrypted. It reads
// more than the first ClientHello: a server may ask for a second one.
type tlsReader struct {
	*Inspector
	header  []byte // of the record, as far as it came
	left    int    // of the record
	message []byte // a handshake message, as far as it came
	skip    int    // of a message that isn't kept
	first   bool   // a record was begun
	cipher  bool   // handshake messages may be encrypted
}

func (t *tlsReader) read(p []byte) ([]byte, reader, error) {
	for len(p) > 0 {
		if t.left == 0 {
			n := min(recordHeader-len(t.header), len(p))
			t.header, p = append(t.header, p[:n]...), p[n:]
			if len(t.header) > 1 && t.header[1] != 3 && !t.first {
				return nil, nil, nil // not TLS, though its first byte could be
			}
			if len(t.header) < recordHeader {
				return nil, t, nil
			}
			if over, err := t.begin(); over || err != nil {
				return nil, nil, err
			}
			continue
		}
		n := min(t.left, len(p))
		body := p[:n]
		t.left, p = t.left-n, p[n:]
		if t.header[0] == recordHandshake {
			if over, err := t.handshake(body); over || err != nil {
				return nil, nil, err
			}
		}
		if t.left == 0 {
			t.header = t.header[:0]
		}
	}
	return nil, t, nil
}

// begin reads a record's header. over is true once nothing is visible any more.
func (t *tlsReader) begin() (over bool, err error) {
	t.first = true
	t.left = int(binary.BigEndian.Uint16(t.header[3:]))
	switch t.header[0] {
	case recordData:
		return true, nil
	case recordChangeCipher:
		t.cipher, t.message, t.skip = true, nil, 0
	case recordAlert, recordHandshake:
	default:
		return t.unreadable("a record of an unknown type")
	}
	if t.header[1] != 3 || t.left > maxRecord {
		return t.unreadable("no TLS record")
	}
	if t.left == 0 {
		t.header = t.header[:0]
	}
	return false, nil
}

// unreadable is the end: of the connection as long as nothing can be encrypted,
// since a lenient server might read what this one can't.
func (t *tlsReader) unreadable(what string) (bool, error) {
	if t.cipher {
		return true, nil
	}
	return true, fmt.Errorf("TLS: %s, want a ClientHello that can be read", what)
}

// handshake reads messages, which may begin and end anywhere in the records.
func (t *tlsReader) handshake(b []byte) (over bool, err error) {
	for {
		if t.skip > 0 {
			n := min(t.skip, len(b))
			t.skip, b = t.skip-n, b[n:]
		}
		if len(b) == 0 {
			return false, nil
		}
		need := handshakeHeader
		if len(t.message) >= handshakeHeader {
			need += messageLength(t.message)
		}
		n := min(need-len(t.message), len(b))
		t.message, b = append(t.message, b[:n]...), b[n:]
		if len(t.message) < handshakeHeader {
			return false, nil
		}
		if over, err := t.progress(); over || err != nil {
			return over, err
		}
	}
}

func messageLength(m []byte) int { return int(m[1])<<16 | int(m[2])<<8 | int(m[3]) }

// progress looks at a message that has at least its header.
func (t *tlsReader) progress() (over bool, err error) {
	length := messageLength(t.message)
	switch {
	case t.message[0] != clientHello && t.cipher:
		return true, nil // encrypted
	case t.message[0] != clientHello:
		t.skip, t.message = length, t.message[:0]
		return false, nil
	case length > maxHello:
		return t.unreadable(fmt.Sprintf("a ClientHello of %d bytes", length))
	case len(t.message) < handshakeHeader+length:
		return false, nil
	}
	names, err := serverNames(t.message[handshakeHeader:])
	if err != nil {
		return t.unreadable(err.Error())
	}
	for _, name := range names {
		if err := t.named("TLS's server name", name); err != nil {
			return true, err
		}
	}
	t.message = t.message[:0]
	return false, nil
}

var errHello = errors.New("a ClientHello that breaks off")

// field reads a value with a length of so many bytes before it.
type field []byte

func (f *field) take(n int) (field, bool) {
	if n > len(*f) {
		return nil, false
	}
	v := (*f)[:n]
	*f = (*f)[n:]
	return v, true
}

func (f *field) vector(size int) (field, bool) {
	head, ok := f.take(size)
	if !ok {
		return nil, false
	}
	n := 0
	for _, b := range head {
		n = n<<8 | int(b)
	}
	return f.take(n)
}

// serverNames gives every name in a ClientHello's body.
func serverNames(body []byte) (names [][]byte, err error) {
	hello := field(body)
	_, ok := hello.take(2 + 32)           // version, random
	for _, size := range []int{1, 2, 1} { // session, suites, compression
		if ok {
			_, ok = hello.vector(size)
		}
	}
	if !ok {
		return nil, errHello
	}
	if len(hello) == 0 {
		return nil, nil // of before there were extensions
	}
	extensions, ok := hello.vector(2)
	if !ok || len(hello) > 0 {
		return nil, errHello
	}
	for len(extensions) > 0 {
		kind, ok := extensions.take(2)
		if !ok {
			return nil, errHello
		}
		value, ok := extensions.vector(2)
		if !ok {
			return nil, errHello
		}
		if binary.BigEndian.Uint16(kind) != extServerName {
			continue
		}
		if names, err = nameList(names, value); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func nameList(names [][]byte, value field) ([][]byte, error) {
	list, ok := value.vector(2)
	if !ok || len(value) > 0 || len(list) == 0 {
		return nil, errHello
	}
	for len(list) > 0 {
		kind, ok := list.take(1)
		if !ok || kind[0] != nameTypeHost {
			return nil, errHello
		}
		name, ok := list.vector(2)
		if !ok {
			return nil, errHello
		}
		names = append(names, name)
	}
	return names, nil
}
