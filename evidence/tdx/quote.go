package tdx

import (
	"bytes"
	"encoding/binary"

	"github.com/joulebox/joulebox/evidence"
)

// maxQuote is more than any host pads a quote to.
const maxQuote = 64 << 10

const (
	headerSize  = 48
	teeTDX      = 0x81
	keyP256     = 2 // attestation key type: ECDSA with P-256
	certQE      = 6 // certification data: the quoting enclave's report and what certifies it
	certPCK     = 5 // certification data: PEM of the PCK certificate's chain
	descriptor  = 6 // of a version 5 body: type and size
	rawSize     = 64
	qeReport    = 384
	maxCertData = 16 << 10
)

// intelQE is the vendor id of Intel's quoting enclave.
var intelQE = [16]byte{0x93, 0x9a, 0x72, 0x33, 0xf7, 0x9c, 0x4c, 0xa9, 0x94, 0x0a, 0x0d, 0xb3, 0x95, 0x7f, 0x06, 0x07}

// Quote is a quote, taken apart. The slices share memory with what was parsed.
type Quote struct {
	Version uint16
	Body    Body

	signed    []byte // header and body: what signature covers
	signature []byte // by key
	key       []byte // the attestation key, x and y
	qeReport  []byte // of the enclave that holds the key
	qeSigned  []byte // its signature, by the PCK
	qeAuth    []byte // bound by the report along with the key
	chain     []byte // PEM of the PCK's chain
	padding   []byte // behind the quote
}

// Parse reads a quote. The errors are *evidence.Refusal.
func Parse(b []byte) (*Quote, error) {
	if len(b) > maxQuote {
		return nil, evidence.Refuse(evidence.Malformed, "got %d bytes, want at most %d", len(b), maxQuote)
	}
	c := cursor{b: b}
	q := &Quote{}
	header := c.take("header", headerSize)
	if c.err != nil {
		return nil, c.err
	}
	if err := q.header(header); err != nil {
		return nil, err
	}
	if err := q.body(&c); err != nil {
		return nil, err
	}
	q.signed = b[:c.at]
	signature := cursor{b: c.sized32("signature data", maxCertData)}
	if c.err != nil {
		return nil, c.err
	}
	q.padding = c.b[c.at:]
	return q, q.signatureData(&signature)
}

func (q *Quote) header(h []byte) error {
	q.Version = binary.LittleEndian.Uint16(h)
	if q.Version != 4 && q.Version != 5 {
		return evidence.Refuse(evidence.Unsupported, "version: got %d, want 4 or 5", q.Version)
	}
	if tee := binary.LittleEndian.Uint32(h[4:]); tee != teeTDX {
		return evidence.Refuse(evidence.Unsupported, "tee_type: got %#x, want %#x: this isn't a quote of TDX", tee, teeTDX)
	}
	if kind := binary.LittleEndian.Uint16(h[2:]); kind != keyP256 {
		return evidence.Refuse(evidence.Algorithm, "att_key_type: got %d, want %d, ECDSA with P-256", kind, keyP256)
	}
	if vendor := [16]byte(h[12:28]); vendor != intelQE {
		return evidence.Refuse(evidence.Unsupported, "qe_vendor_id: got %x, want Intel's, %x", vendor, intelQE)
	}
	return nil
}

// body reads the body: plain in version 4, described in version 5.
func (q *Quote) body(c *cursor) error {
	size := bodySize10
	if q.Version == 5 {
		d := c.take("body descriptor", descriptor)
		if c.err != nil {
			return c.err
		}
		kind, said := binary.LittleEndian.Uint16(d), binary.LittleEndian.Uint32(d[2:])
		switch {
		case kind == 2 && said == bodySize10:
		case kind == 3 && said == bodySize15:
			size = bodySize15
		default:
			return evidence.Refuse(evidence.Unsupported, "body: got type %d of %d bytes, want 2 of %d or 3 of %d", kind, said, bodySize10, bodySize15)
		}
	}
	b := c.take("body", size)
	if c.err == nil {
		q.Body = readBody(b)
	}
	return c.err
}

// signatureData reads what stands behind the body. It must be filled to its end.
func (q *Quote) signatureData(c *cursor) error {
	q.signature = c.take("signature", rawSize)
	q.key = c.take("attestation key", rawSize)
	qe := cursor{b: c.certData(certQE)}
	if c.err != nil {
		return c.err
	}
	q.qeReport = qe.take("QE report", qeReport)
	q.qeSigned = qe.take("QE report's signature", rawSize)
	q.qeAuth = qe.sized16("QE authentication data")
	q.chain = qe.certData(certPCK)
	if qe.err != nil {
		return qe.err
	}
	if len(c.b) != c.at || len(qe.b) != qe.at {
		return evidence.Refuse(evidence.Malformed, "signature data: %d bytes are left over", len(c.b)-c.at+len(qe.b)-qe.at)
	}
	return nil
}

// trailing refuses what follows a quote and isn't padding.
func (q *Quote) trailing() error {
	if len(bytes.Trim(q.padding, "\x00")) > 0 {
		return evidence.Refuse(evidence.Trailing, "%d bytes that nobody signed follow the quote, want nothing but zeros", len(q.padding))
	}
	return nil
}

// cursor reads on through bytes. After the first error it reads nothing.
type cursor struct {
	b   []byte
	at  int
	err error
}

func (c *cursor) take(what string, n int) []byte {
	if c.err == nil && n > len(c.b)-c.at {
		c.err = evidence.Refuse(evidence.Truncated, "%s: want %d bytes, and %d are left", what, n, len(c.b)-c.at)
	}
	if c.err != nil {
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at : c.at]
}

func (c *cursor) sized32(what string, most uint32) []byte {
	size := c.take(what, 4)
	if c.err != nil {
		return nil
	}
	n := binary.LittleEndian.Uint32(size)
	if n > most {
		c.err = evidence.Refuse(evidence.Malformed, "%s: claims %d bytes, want at most %d", what, n, most)
		return nil
	}
	return c.take(what, int(n))
}

func (c *cursor) sized16(what string) []byte {
	size := c.take(what, 2)
	if c.err != nil {
		return nil
	}
	return c.take(what, int(binary.LittleEndian.Uint16(size)))
}

// certData reads certification data of the one type that is wanted.
func (c *cursor) certData(want uint16) []byte {
	const what = "certification data"
	kind := c.take(what, 2)
	if c.err != nil {
		return nil
	}
	if got := binary.LittleEndian.Uint16(kind); got != want {
		c.err = evidence.Refuse(evidence.Unsupported, "%s: got type %d, want %d", what, got, want)
		return nil
	}
	return c.sized32(what, maxCertData)
}
