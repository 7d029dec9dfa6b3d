package grant

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// kind is what a value is in the source, before anything is expected of it.
type kind string

const (
	kindNull   kind = "null"
	kindBool   kind = "true or false"
	kindInt    kind = "an integer"
	kindString kind = "a string"
	kindList   kind = "a list"
	kindObject kind = "an object"
	kindOther  kind = "something else"
)

// node is one value of JSON or YAML source; text is its own spelling.
type node struct {
	kind    kind
	at      place
	text    string
	bool    bool
	int     uint64
	list    []*node
	members map[string]*node
	names   []string // in the order of the source
}

// place is where a value begins: a byte offset, or a line and column if those
// are known already. Lines are counted only when an error has to be told.
type place struct {
	offset       int64
	line, column int
}

func (p place) in(src []byte) string {
	if p.line > 0 {
		return fmt.Sprintf("line %d, column %d", p.line, p.column)
	}
	before := src[:min(int(p.offset), len(src))]
	line := bytes.Count(before, []byte("\n")) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("line %d, column %d", line, utf8.RuneCount(before[start:])+1)
}

// maxTreeDepth is more than grants have levels.
const maxTreeDepth = 8

// jsonTree reads one JSON text. Repeated names, invalid UTF-8 and lone surrogates
// are refused by the decoder.
func jsonTree(src []byte) (*node, error) {
	t := jsonReader{dec: jsontext.NewDecoder(bytes.NewReader(src)), src: src}
	n, err := t.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := t.dec.ReadToken(); err != io.EOF {
		return nil, &syntaxError{t.here(), errors.New("something follows the grants; want one object and nothing after it")}
	}
	return n, nil
}

// syntaxError is what makes a text no JSON at all.
type syntaxError struct {
	at  place
	err error
}

func (e *syntaxError) Error() string { return e.err.Error() }

// placeError is a fault that isn't a member's.
type placeError struct {
	at  place
	msg string
}

func (e *placeError) Error() string { return e.msg }

// located is the error of reading src, with the line and column in it.
func located(src []byte, err error) error {
	if e, ok := errors.AsType[*syntaxError](err); ok {
		return fmt.Errorf("grants: %s: %w", e.at.in(src), e.err)
	}
	if e, ok := errors.AsType[*placeError](err); ok {
		return fmt.Errorf("grants: %s: %s", e.at.in(src), e.msg)
	}
	return fmt.Errorf("grants: %w", err)
}

type jsonReader struct {
	dec *jsontext.Decoder
	src []byte
}

func (t *jsonReader) value(depth int) (*node, error) {
	n := &node{kind: kindOther, at: t.here()}
	if depth > maxTreeDepth {
		return nil, &placeError{n.at, "nested deeper than grants are"}
	}
	tok, err := t.dec.ReadToken()
	if err != nil {
		return nil, t.broken(err)
	}
	switch tok.Kind() {
	case 'n':
		n.kind, n.text = kindNull, "null"
	case 't', 'f':
		n.kind, n.bool, n.text = kindBool, tok.Bool(), tok.String()
	case '"':
		n.kind, n.text = kindString, tok.String()
	case '0':
		n.number(tok.String())
	case '[':
		return n, t.array(n, depth)
	case '{':
		return n, t.object(n, depth)
	}
	return n, nil
}

// here is where the next token begins.
func (t *jsonReader) here() place {
	t.dec.PeekKind()
	at := t.src[t.dec.InputOffset():]
	skipped := len(at) - len(bytes.TrimLeft(at, " \t\r\n,:"))
	return place{offset: t.dec.InputOffset() + int64(skipped)}
}

func (t *jsonReader) broken(err error) error {
	bad, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return &syntaxError{place{offset: int64(len(t.src))}, errors.New("the text ends before the grants do; is it cut short?")}
	}
	at := place{offset: bad.ByteOffset}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &placeError{at, fmt.Sprintf("%q is there twice; keep one", bad.JSONPointer.LastToken())}
	}
	return &syntaxError{at, bad.Err}
}

func (t *jsonReader) array(n *node, depth int) error {
	n.kind = kindList
	for t.dec.PeekKind() != ']' {
		child, err := t.value(depth + 1)
		if err != nil {
			return err
		}
		n.list = append(n.list, child)
	}
	_, err := t.dec.ReadToken()
	return err
}

func (t *jsonReader) object(n *node, depth int) error {
	n.kind, n.members = kindObject, map[string]*node{}
	for t.dec.PeekKind() != '}' {
		name, err := t.dec.ReadToken()
		if err != nil {
			return t.broken(err)
		}
		key := name.String()
		child, err := t.value(depth + 1)
		if err != nil {
			return err
		}
		n.members[key] = child
		n.names = append(n.names, key)
	}
	_, err := t.dec.ReadToken()
	return err
}

// number takes plain decimal integers; a fraction, an exponent or a sign makes
// it something that no grant holds.
func (n *node) number(text string) {
	n.text = text
	v, err := strconv.ParseUint(text, 10, 64)
	if err == nil && strconv.FormatUint(v, 10) == text {
		n.kind, n.int = kindInt, v
	}
}
