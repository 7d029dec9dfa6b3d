package egress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/net/http2/hpack"
)

// Of RFC 9113.
const (
	frameHeader       = 9
	frameHeaders      = 1
	frameContinuation = 9
	flagEndHeaders    = 0x4
	flagPadded        = 0x8
	flagPriority      = 0x20

	// maxTable bounds what a client may have a server remember of its fields;
	// servers offer 4 KiB, seldom more.
	maxTable = 64 << 10
	// maxBlock bounds the fields of one request.
	maxBlock = 64 << 10
)

// prefaceRest follows the line that begins HTTP/2 without encryption.
var prefaceRest = []byte("\r\nSM\r\n\r\n")

// h2Reader reads the frames of a client of HTTP/2, for the hosts in its requests.
type h2Reader struct {
	*Inspector
	preface int
	header  []byte
	left    int // of the frame
	head    []byte
	block   int // bytes of the field block so far
	open    bool
	decoder *hpack.Decoder
	err     error
}

func newH2Reader(v *Inspector) *h2Reader {
	h := &h2Reader{Inspector: v}
	h.decoder = hpack.NewDecoder(maxTable, h.field)
	h.decoder.SetMaxStringLength(maxLine)
	return h
}

func (h *h2Reader) field(f hpack.HeaderField) {
	if h.err == nil && f.Value != "" && (f.Name == ":authority" || f.Name == "host") {
		h.err = h.authority("HTTP/2's "+f.Name, []byte(f.Value))
	}
}

var errH2 = errors.New("HTTP/2: got frames that can't be read")

func (h *h2Reader) read(p []byte) ([]byte, reader, error) {
	if n := min(len(prefaceRest)-h.preface, len(p)); n > 0 {
		if !bytes.Equal(p[:n], prefaceRest[h.preface:h.preface+n]) {
			return nil, nil, errH2
		}
		h.preface, p = h.preface+n, p[n:]
	}
	for len(p) > 0 {
		if len(h.header) < frameHeader {
			n := min(frameHeader-len(h.header), len(p))
			h.header, p = append(h.header, p[:n]...), p[n:]
			if len(h.header) < frameHeader {
				break
			}
			if err := h.begin(); err != nil {
				return nil, nil, err
			}
		}
		n := min(h.left, len(p))
		if err := h.payload(p[:n]); err != nil {
			return nil, nil, err
		}
		p = p[n:]
	}
	return nil, h, nil
}

// begin reads a frame's header.
func (h *h2Reader) begin() error {
	h.left = int(h.header[0])<<16 | int(binary.BigEndian.Uint16(h.header[1:]))
	kind := h.header[3]
	if (kind == frameContinuation) != h.open {
		return errH2 // nothing comes between the pieces of a block
	}
	if kind == frameHeaders || kind == frameContinuation {
		if h.block += h.left; h.block > maxBlock {
			return fmt.Errorf("HTTP/2: got a request with more than %d bytes of fields", maxBlock)
		}
	}
	return nil
}

// payload reads a piece of a frame.
func (h *h2Reader) payload(b []byte) error {
	h.left -= len(b)
	kind := h.header[3]
	if kind == frameHeaders || kind == frameContinuation {
		h.head = append(h.head, b...)
	}
	if h.left > 0 {
		return nil
	}
	flags := h.header[4]
	h.header = h.header[:0]
	if kind != frameHeaders && kind != frameContinuation {
		return nil
	}
	fragment, ok := h.head, true
	if kind == frameHeaders {
		fragment, ok = unpadded(h.head, flags)
	}
	h.head = h.head[:0]
	if !ok {
		return errH2
	}
	_, err := h.decoder.Write(fragment)
	if h.open = flags&flagEndHeaders == 0; !h.open && err == nil {
		h.block = 0
		err = h.decoder.Close()
	}
	if err != nil {
		return errors.Join(errH2, err)
	}
	return h.err
}

// unpadded is the block in a HEADERS frame.
func unpadded(b []byte, flags byte) ([]byte, bool) {
	pad := 0
	if flags&flagPadded != 0 {
		if len(b) == 0 {
			return nil, false
		}
		pad, b = int(b[0]), b[1:]
	}
	if flags&flagPriority != 0 {
		if len(b) < 5 {
			return nil, false
		}
		b = b[5:]
	}
	if pad > len(b) {
		return nil, false
	}
	return b[:len(b)-pad], true
}
