// Package wat assembles WebAssembly text into a module: the core text format with
// its abbreviations, for the instructions that this program runs. It checks what
// the text format itself demands (names, forms, ranges); whether the module is
// valid is for whoever reads modules to say.
package wat

import "fmt"

// MaxSource is the longest text that is read, in bytes.
const MaxSource = 4 << 20

// maxDepth bounds how deep parentheses may lie in each other.
const maxDepth = 2000

// Error says where a text isn't one. Line and Column count from 1, in bytes.
type Error struct {
	Line, Column int
	Msg          string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// Assemble makes a module of one text: (module …), or its fields alone. An error
// is an *Error.
func Assemble(src []byte) (module []byte, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			module, err = nil, e
		default:
			panic(e)
		}
	}()
	if len(src) > MaxSource {
		return nil, &Error{1, 1, fmt.Sprintf("got a text of %d bytes, want at most %d", len(src), MaxSource)}
	}
	m := newModule(parse(src))
	m.declare()
	m.define()
	return m.encode(), nil
}
