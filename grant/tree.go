package grant

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	pos     string
	text    string
	bool    bool
	int     uint64
	list    []*node
	members map[string]*node
	names   []string // in the order of the source
}

// maxTreeDepth is more than grants have levels.
const maxTreeDepth = 8

// jsonTree reads JSON; positions are worth having only in text by a person.
func jsonTree(src []byte, positions bool) (*node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(src))
	t := jsonReader{dec: d, src: src, positions: positions}
	n, err := t.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, &syntaxError{fmt.Errorf("%s: more text after the end of the grants", position(src, d.InputOffset()))}
	}
	return n, nil
}

type jsonReader struct {
	dec       *jsontext.Decoder
	src       []byte
	positions bool
}

func (t *jsonReader) value(depth int) (*node, error) {
	n := &node{kind: kindOther}
	if t.positions {
		n.pos = t.here()
	}
	if depth > maxTreeDepth {
		return nil, fmt.Errorf("%s: nested deeper than grants are", t.here())
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
func (t *jsonReader) here() string {
	t.dec.PeekKind()
	at := t.src[t.dec.InputOffset():]
	skipped := len(at) - len(bytes.TrimLeft(at, " \t\r\n,:"))
	return position(t.src, t.dec.InputOffset()+int64(skipped))
}

func (t *jsonReader) broken(err error) error {
	bad, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok:
		return &syntaxError{fmt.Errorf("the text ends in the middle of the grants: %w", err)}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%s: %q is there twice; keep one", position(t.src, bad.ByteOffset), string(bad.JSONPointer.LastToken()))
	}
	return &syntaxError{fmt.Errorf("%s: %w", position(t.src, bad.ByteOffset), bad.Err)}
}

// syntaxError is what makes a text no JSON at all.
type syntaxError struct{ error }

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
		name, err := t.dec.ReadToken() // refuses a repeated name by itself
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

func position(src []byte, offset int64) string {
	before := src[:min(int(offset), len(src))]
	line := bytes.Count(before, []byte("\n")) + 1
	col := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("line %d, column %d", line, col)
}
