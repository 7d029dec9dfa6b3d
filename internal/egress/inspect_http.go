package egress

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

const (
	maxLine   = 64 << 10
	maxMethod = 256
)

// httpReader reads the requests of a client of HTTP/1, one after another: their
// targets and Host fields, and how long their bodies are. What two servers might
// read differently is refused, since one of them would see another request in it.
type httpReader struct {
	*Inspector
	step  func(*httpReader, []byte) error // what to do with a line
	line  []byte
	body  uint64 // bytes of a body, or of a chunk, to pass
	begun bool   // a request was read, so what follows is one too
	req   request
	next  reader // set when the requests end
	over  bool
}

// request is what counts of a request's head.
type request struct {
	length  []byte // Content-Length
	chunked bool
	old     bool // HTTP/1.0
	other   bool // what follows is another protocol, if the server agrees
}

func newHTTPReader(v *Inspector) *httpReader {
	return &httpReader{Inspector: v, step: (*httpReader).start}
}

func (h *httpReader) read(p []byte) ([]byte, reader, error) {
	for len(p) > 0 {
		if h.body > 0 {
			n := min(h.body, uint64(len(p)))
			h.body, p = h.body-n, p[n:]
			continue
		}
		end := bytes.IndexByte(p, '\n')
		piece := p[:max(end, 0)]
		if end < 0 {
			piece = p
		}
		h.line = append(h.line, piece...)
		if !h.begun && h.notHTTP() {
			return nil, nil, nil
		}
		if len(h.line) > maxLine {
			return nil, nil, fmt.Errorf("HTTP: a line of more than %d bytes", maxLine)
		}
		if end < 0 {
			return nil, h, nil
		}
		p = p[end+1:]
		line := bytes.TrimSuffix(h.line, []byte("\r"))
		h.line = h.line[:0]
		if err := h.step(h, line); err != nil {
			return nil, nil, err
		}
		if h.over {
			return p, h.next, nil
		}
	}
	return nil, h, nil
}

// notHTTP reports whether what came of a first line can't begin a request.
func (h *httpReader) notHTTP() bool {
	for i, c := range h.line {
		switch {
		case c == ' ':
			return i == 0
		case c == '\r' && i == len(h.line)-1:
		case !isToken(c) || i >= maxMethod:
			return true
		}
	}
	return false
}

// start reads a request line.
func (h *httpReader) start(line []byte) error {
	if len(line) == 0 {
		return nil // servers pass over blank lines here
	}
	method, rest, _ := bytes.Cut(line, []byte(" "))
	i := bytes.LastIndexByte(rest, ' ')
	if i < 0 || !bytes.HasPrefix(rest[i+1:], []byte("HTTP/")) {
		if h.begun {
			return fmt.Errorf("HTTP: got %.100q after a request, want another one", line)
		}
		h.over = true
		return nil
	}
	target, version := rest[:i], rest[i+1:]
	if string(line) == "PRI * HTTP/2.0" {
		h.over, h.next = true, newH2Reader(h.Inspector)
		return nil
	}
	if err := plain(line); err != nil {
		return err
	}
	h.begun = true
	h.req = request{old: string(version) == "HTTP/1.0"}
	if !h.req.old && string(version) != "HTTP/1.1" {
		return fmt.Errorf("HTTP: got version %.20q, want HTTP/1.0 or HTTP/1.1", version)
	}
	h.step = (*httpReader).field
	return h.target(method, target)
}

// target judges what a request asks for.
func (h *httpReader) target(method, target []byte) error {
	switch {
	case bytes.IndexByte(target, ' ') >= 0:
		return fmt.Errorf("HTTP: got a blank in the target %.100q, want none", target)
	case string(method) == "CONNECT":
		h.req.other = true
		return h.authority("HTTP's CONNECT", target)
	case len(target) > 0 && target[0] == '/', string(target) == "*":
		return nil
	}
	_, rest, ok := bytes.Cut(target, []byte("://"))
	if !ok {
		return fmt.Errorf("HTTP: got the target %.100q, want a path or a URL", target)
	}
	if i := bytes.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return h.authority("HTTP's target", rest[bytes.LastIndexByte(rest, '@')+1:])
}

// plain refuses what some servers take for the end of a line, or of all.
func plain(line []byte) error {
	if i := bytes.IndexAny(line, "\r\x00"); i >= 0 {
		return fmt.Errorf("HTTP: got %q within a line, want none", line[i])
	}
	return nil
}

// field reads a line of a request's head.
func (h *httpReader) field(line []byte) error {
	if len(line) == 0 {
		return h.headEnd()
	}
	if err := plain(line); err != nil {
		return err
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 || bytes.ContainsFunc(name, func(r rune) bool { return r > 0x7f || !isToken(byte(r)) }) {
		return fmt.Errorf("HTTP: got the field %.100q, want a name, a colon and a value", line)
	}
	value = bytes.Trim(value, " \t")
	switch string(bytes.ToLower(name)) {
	case "host":
		if len(value) == 0 {
			return nil
		}
		return h.authority("HTTP's Host", value)
	case "content-length":
		if h.req.length != nil && !bytes.Equal(h.req.length, value) {
			return errors.New("HTTP: got two lengths of one body, want one")
		}
		h.req.length = append([]byte{}, value...) // not nil, however empty
	case "transfer-encoding":
		if h.req.chunked || h.req.old || !bytes.EqualFold(value, []byte("chunked")) {
			return fmt.Errorf("HTTP: got the transfer encoding %.100q, want chunked alone", value)
		}
		h.req.chunked = true
	case "upgrade":
		h.req.other = true
	}
	return nil
}

// headEnd finds out what follows a head.
func (h *httpReader) headEnd() error {
	switch r := &h.req; {
	case r.chunked && r.length != nil:
		return errors.New("HTTP: got both a length and chunks, want one")
	case r.chunked:
		h.step = (*httpReader).chunk
		return nil
	case r.length != nil:
		// Digits alone: ParseUint takes no sign and no blank.
		n, err := strconv.ParseUint(string(r.length), 10, 63)
		if err != nil {
			return fmt.Errorf("HTTP: got the length %.40q, want a number", r.length)
		}
		h.body = n
	}
	h.requestEnd()
	return nil
}

// requestEnd expects the next request after the body; or another protocol, which is
// told by its first byte again, should the server not have agreed to it.
func (h *httpReader) requestEnd() {
	h.step = (*httpReader).start
	if !h.req.other {
		return
	}
	h.over, h.next = true, &opening{h.Inspector}
	if h.body > 0 {
		h.next = &passing{h.body, h.next}
	}
}

// chunk reads the line before a chunk.
func (h *httpReader) chunk(line []byte) error {
	if err := plain(line); err != nil {
		return err
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimRight(size, " \t")), 16, 62)
	if err != nil {
		return fmt.Errorf("HTTP: got the chunk size %.40q, want a number", size)
	}
	if n == 0 {
		h.step = (*httpReader).trailer
		return nil
	}
	h.body, h.step = n, (*httpReader).chunkEnd
	return nil
}

func (h *httpReader) chunkEnd(line []byte) error {
	if len(line) > 0 {
		return fmt.Errorf("HTTP: got %.40q after a chunk, want the end of its line", line)
	}
	h.step = (*httpReader).chunk
	return nil
}

func (h *httpReader) trailer(line []byte) error {
	if len(line) == 0 {
		h.requestEnd()
	}
	return plain(line)
}

// passing is a reader for bytes that say nothing.
type passing struct {
	left uint64
	then reader
}

func (s *passing) read(p []byte) ([]byte, reader, error) {
	n := min(s.left, uint64(len(p)))
	if s.left -= n; s.left > 0 {
		return nil, s, nil
	}
	return p[n:], s.then, nil
}

// isToken reports whether a byte may be in a token (RFC 9110).
func isToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}
