package egress

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// TestQUICSecrets against the examples of RFC 9001 (A.1) and RFC 9369 (A.1).
func TestQUICSecrets(t *testing.T) {
	dcid, _ := hex.DecodeString("8394c8f03e515708")
	for version, want := range map[uint32][3]string{
		0x00000001: {"1f369613dd76d5467730efcbe3b1a22d", "fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2"},
		0x6b3343cf: {"8b1a0bc121284290a29e0971b5cd045d", "91f73e2351d8fa91660e909f", "45b95e15235d6f45a6b19cbcb0294ba9"},
	} {
		key, iv, header, err := quicSecrets(quicVersions[version], dcid)
		if got := [3]string{hex.EncodeToString(key), hex.EncodeToString(iv), hex.EncodeToString(header)}; err != nil || got != want {
			t.Errorf("version %x: got %q, %v, want %q", version, got, err, want)
		}
	}
}

// quicHello is the crypto stream of a client.
func quicHello(t testing.TB, server string) []byte {
	t.Helper()
	c := tls.QUICClient(&tls.QUICConfig{TLSConfig: &tls.Config{ServerName: server, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h3"}}})
	c.SetTransportParameters(nil)
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	for {
		switch e := c.NextEvent(); e.Kind {
		case tls.QUICWriteData:
			return bytes.Clone(e.Data)
		case tls.QUICNoEvent:
			t.Fatal("no hello")
		}
	}
}

type initial struct {
	version uint32
	keys    []byte // the identifier that they follow from; dcid if nil
	dcid    []byte
	number  uint32
	frames  []byte
}

// seal makes a client's first packet, as a client does.
func (p initial) seal(t testing.TB) []byte {
	t.Helper()
	v := quicVersions[p.version]
	from := p.keys
	if from == nil {
		from = p.dcid
	}
	k, err := newQUICKeys(v, from)
	if err != nil {
		t.Fatal(err)
	}
	frames := append(p.frames, make([]byte, max(0, 1100-len(p.frames)))...)
	b := binary.BigEndian.AppendUint32([]byte{0xc3 | v.initial<<4}, p.version)
	b = append(append(b, byte(len(p.dcid))), p.dcid...)
	b = append(b, 2, 7, 7, 0) // its own identifier, no token
	b = append(b, varint(uint64(4+len(frames)+16))...)
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, p.number)
	nonce := bytes.Clone(k.iv)
	for i := range 4 {
		nonce[8+i] ^= b[at+i]
	}
	b = k.aead.Seal(b, nonce, frames, bytes.Clone(b))
	var mask [aes.BlockSize]byte
	k.header.Encrypt(mask[:], b[at+4:][:16])
	b[0] ^= mask[0] & 0x0f
	for i := range 4 {
		b[at+i] ^= mask[1+i]
	}
	return b
}

func varint(v uint64) []byte {
	if v < 64 {
		return []byte{byte(v)}
	}
	return binary.BigEndian.AppendUint32(nil, uint32(v)|0x80000000)
}

func cryptoFrame(at int, piece []byte) []byte {
	return append(append(append([]byte{6}, varint(uint64(at))...), varint(uint64(len(piece)))...), piece...)
}

func TestServerNamesOfQUIC(t *testing.T) {
	good, bad := quicHello(t, "example.com"), quicHello(t, "evil.example")
	id, other := []byte("identify"), []byte("another1")
	ack := []byte{2, 0, 0, 0, 0, 1}
	whole := func(version uint32, hello []byte) []byte {
		return initial{version, nil, id, 0, append(bytes.Clone(ack), cryptoFrame(0, hello)...)}.seal(t)
	}
	piece := func(n uint32, at, end int, hello []byte) []byte {
		return initial{1, nil, id, n, cryptoFrame(at, hello[at:end])}.seal(t)
	}
	const v1, v2 = 1, 0x6b3343cf
	for _, c := range []struct {
		name string
		in   [][]byte
		out  []int // how many go on after each
		want string
	}{
		{"the granted name", [][]byte{whole(v1, good)}, []int{1}, ""},
		{"in version 2", [][]byte{whole(v2, good)}, []int{1}, ""},
		{"another name", [][]byte{whole(v1, bad)}, nil, `names "evil.example"`},
		{"in version 2, another", [][]byte{whole(v2, bad)}, nil, "names"},
		{"in two datagrams", [][]byte{piece(0, 0, 100, good), piece(1, 100, len(good), good)}, []int{0, 2}, ""},
		{"the other way round", [][]byte{piece(1, 100, len(good), good), piece(0, 0, 100, good)}, []int{0, 2}, ""},
		{"in two, another", [][]byte{piece(1, 100, len(bad), bad), piece(0, 0, 100, bad)}, []int{0}, "names"},
		{"two contents", [][]byte{piece(0, 0, 200, good), piece(1, 100, len(bad), bad)}, []int{0}, "two contents"},
		{"a second hello", [][]byte{whole(v1, good), initial{v1, id, other, 1, cryptoFrame(len(good), bad)}.seal(t)}, []int{1}, "names"},
		{"another connection", [][]byte{whole(v1, good), initial{v1, nil, other, 0, cryptoFrame(0, bad)}.seal(t)}, []int{1}, "names"},
		{"an acknowledgement", [][]byte{whole(v1, good), initial{v1, id, other, 1, ack}.seal(t)}, []int{1, 1}, ""},
		{"two packets in a datagram", [][]byte{append(piece(0, 0, 100, good), piece(1, 100, len(good), good)...)}, []int{1}, ""},
		{"two, another name", [][]byte{append(piece(0, 0, 100, bad), piece(1, 100, len(bad), bad)...)}, nil, "names"},
		{"of two connections", [][]byte{append(whole(v1, good), initial{v1, nil, other, 0, cryptoFrame(0, good)}.seal(t)...)}, nil, "can't be read"},
		{"another key", [][]byte{initial{v1, other, id, 0, cryptoFrame(0, good)}.seal(t)}, nil, "can't be read"},
		{"an unknown frame", [][]byte{initial{v1, nil, id, 0, []byte{8, 1}}.seal(t)}, nil, "can't be read"},
		{"data first", [][]byte{[]byte("\x40short")}, []int{1}, ""},
		{"an unknown version", [][]byte{append([]byte{0xc0, 0xff, 0, 0, 29}, make([]byte, 1200)...)}, nil, "version"},
		{"a hello that never ends", [][]byte{initial{v1, nil, id, 0, cryptoFrame(20000, []byte("x"))}.seal(t)}, nil, "more than"},
	} {
		q := NewDatagramInspector("example.com:443")
		var err error
		for i, p := range c.in {
			var list [][]byte
			if list, err = q.Inspect(p); err != nil {
				break
			}
			if len(list) != c.out[i] {
				t.Errorf("%s: %d datagrams go on after %d, want %d", c.name, len(list), i+1, c.out[i])
			}
		}
		var denied *Denied
		if (err != nil) != (c.want != "") || err != nil && (!errors.As(err, &denied) || !strings.Contains(denied.Reason, c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestQUICIsBounded in what one port makes the host remember.
func TestQUICIsBounded(t *testing.T) {
	q := NewDatagramInspector("example.com:443")
	hello := quicHello(t, "example.com")
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = q.Inspect(initial{1, nil, []byte{byte(n), 1, 2, 3, 4, 5, 6, 7}, 0, cryptoFrame(0, hello[:50])}.seal(t))
	}
	if n != quicConns+1 {
		t.Errorf("got %v after %d connections, want it after %d", err, n, quicConns+1)
	}
	q, err = NewDatagramInspector("example.com:443"), nil
	for n = 0; err == nil && n < 100; n++ {
		_, err = q.Inspect(initial{1, nil, []byte("identify"), uint32(n), cryptoFrame(0, hello[:50])}.seal(t))
	}
	if err == nil || n > quicHeld/1100+1 {
		t.Errorf("got %v after %d datagrams, want at most %d bytes held", err, n, quicHeld)
	}
}

// TestOtherDatagrams pass where QUIC isn't at home.
func TestOtherDatagrams(t *testing.T) {
	q := NewDatagramInspector("example.com:53")
	for _, p := range []string{"", "\xde\xad\x01\x00\x00\x01\x00\x00", "hello", "\x80\x00\x00"} {
		if list, err := q.Inspect([]byte(p)); err != nil || len(list) != 1 || string(list[0]) != p {
			t.Errorf("%q: got %q, %v", p, list, err)
		}
	}
	if _, err := q.Inspect(initial{1, nil, []byte("identify"), 0, cryptoFrame(0, quicHello(t, "evil.example"))}.seal(t)); err == nil {
		t.Error("another name passed at a port that isn't QUIC's")
	}
}

func FuzzDatagrams(f *testing.F) {
	f.Add(initial{1, nil, []byte("identify"), 0, cryptoFrame(0, quicHello(f, "evil.example"))}.seal(f))
	f.Add([]byte("\xc0\x00\x00\x00\x01\x00\x00\x00\x05hello"))
	f.Fuzz(func(t *testing.T, p []byte) {
		kept := bytes.Clone(p)
		list, err := NewDatagramInspector("example.com:443").Inspect(p)
		if !bytes.Equal(p, kept) || err != nil && list != nil || len(list) == 1 && !bytes.Equal(list[0], kept) {
			t.Errorf("%x became %x, %v", kept, list, err)
		}
	})
}

// FuzzFrames reads what only a client that seals it could send.
func FuzzFrames(f *testing.F) {
	f.Add(cryptoFrame(0, quicHello(f, "example.com")))
	f.Add([]byte{3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6, 0, 1, 1, 0x1c})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &quicConn{hello: &tlsReader{Inspector: NewInspector("example.com:443")}}
		_ = c.frames(b)
		if len(c.data) > quicData || c.fed > len(c.data) {
			t.Errorf("%d bytes of which %d were read", len(c.data), c.fed)
		}
	})
}
