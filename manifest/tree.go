package manifest

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
)

// node is a value of the file and where it stands.
type node struct {
	kind       jsontext.Kind
	start, end int
	text       string // of a string
	members    []*member
	elements   []*node
	dropped    bool // refused: no part of a suggestion
}

type member struct {
	name    string
	at      int // the name's offset
	value   *node
	dropped bool
}

// reader builds the tree. The decoder is strict but for doubled names, which are
// to be reported like everything else and not as the end of reading.
type reader struct {
	text []byte
	d    *jsontext.Decoder
}

// maxDepth is far beyond what a declaration needs.
const maxDepth = 100

var errDeep = errors.New("nested too deep")

func readTree(text []byte) (*node, *broken) {
	r := &reader{text, jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))}
	root, err := r.value()
	if err == nil {
		if _, err = r.d.ReadToken(); err == io.EOF {
			return root, nil
		}
		return nil, &broken{r.next(), fault{"something follows the object", "keep one object and nothing after it"}}
	}
	return nil, r.broken(err)
}

func (r *reader) broken(err error) *broken {
	at := r.next()
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if int(bad.ByteOffset) > at {
			at = int(bad.ByteOffset)
		}
		err = bad.Err
	}
	switch {
	case err == errDeep:
		return &broken{at, fault{fmt.Sprintf("it is nested deeper than %d levels", maxDepth), "want an object with an image"}}
	case at >= len(r.text) && len(bytes.TrimSpace(r.text)) == 0:
		return &broken{0, fault{"the file is empty", "want one object with an image"}}
	case at >= len(r.text):
		return &broken{len(r.text), fault{"the file ends in the middle of a value", "is it cut short?"}}
	}
	return &broken{at, fault{"it isn't JSON with comments: " + err.Error(), "correct it there; names and strings take double quotes"}}
}

// next is where the next token begins.
func (r *reader) next() int {
	rest := r.text[min(int(r.d.InputOffset()), len(r.text)):]
	return len(r.text) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
}

func (r *reader) value() (*node, error) {
	start := r.next()
	if r.d.StackDepth() >= maxDepth {
		return nil, errDeep
	}
	token, err := r.d.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{kind: token.Kind(), start: start}
	switch n.kind {
	case '"':
		n.text = token.String()
	case '{':
		err = r.object(n)
	case '[':
		err = r.array(n)
	}
	n.end = int(r.d.InputOffset())
	return n, err
}

func (r *reader) object(n *node) error {
	for r.d.PeekKind() != '}' {
		at := r.next()
		name, err := r.d.ReadToken()
		if err != nil {
			return err
		}
		m := &member{name: name.String(), at: at}
		if m.value, err = r.value(); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := r.d.ReadToken()
	return err
}

func (r *reader) array(n *node) error {
	for r.d.PeekKind() != ']' {
		e, err := r.value()
		if err != nil {
			return err
		}
		n.elements = append(n.elements, e)
	}
	_, err := r.d.ReadToken()
	return err
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case '[':
		return "an array"
	case '{':
		return "an object"
	}
	return "null"
}
