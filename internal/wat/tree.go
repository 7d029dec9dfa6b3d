package wat

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// node is one atom, one string, or a list in parentheses.
type node struct {
	kind   tokenKind // tokAtom, tokString or tokOpen for a list
	text   string
	list   []node
	line   int
	column int
}

func (n *node) fail(format string, args ...any) {
	panic(&Error{n.line, n.column, fmt.Sprintf(format, args...)})
}

// what names a node for an error.
func (n *node) what() string {
	switch n.kind {
	case tokAtom:
		return n.text
	case tokString:
		return "a string"
	}
	if head := n.head(); head != "" {
		return "(" + head + " …)"
	}
	return "a list"
}

// head is the word that a list begins with.
func (n *node) head() string {
	if n.kind == tokOpen && len(n.list) > 0 && n.list[0].kind == tokAtom {
		return n.list[0].text
	}
	return ""
}

func (n *node) is(head string) bool { return n.head() == head }
func (n *node) isID() bool          { return n.kind == tokAtom && strings.HasPrefix(n.text, "$") }

// parse reads a text into lists, without recursion.
func parse(src []byte) []node {
	l := &lexer{src: src, line: 1}
	stack := [][]node{nil}
	var opens []token
	for {
		t := l.next()
		top := len(stack) - 1
		switch t.kind {
		case tokEnd:
			if top > 0 {
				o := opens[top-1]
				panic(&Error{o.line, o.column, "this parenthesis isn't closed"})
			}
			return stack[0]
		case tokOpen:
			if top == maxDepth {
				panic(&Error{t.line, t.column, fmt.Sprintf("parentheses lie more than %d deep", maxDepth)})
			}
			stack, opens = append(stack, nil), append(opens, t)
		case tokClose:
			if top == 0 {
				panic(&Error{t.line, t.column, "this parenthesis closes none"})
			}
			o := opens[top-1]
			n := node{kind: tokOpen, list: stack[top], line: o.line, column: o.column}
			stack, opens = stack[:top], opens[:top-1]
			if strings.HasPrefix(n.head(), "@") {
				continue // an annotation says nothing to us
			}
			stack[top-1] = append(stack[top-1], n)
		default:
			stack[top] = append(stack[top], node{kind: t.kind, text: t.text, line: t.line, column: t.column})
		}
	}
}

// cursor goes through what a list holds.
type cursor struct {
	of   *node // for errors at the end
	rest []node
}

// cursor begins after the head and n more.
func (n *node) cursor(skip int) *cursor { return &cursor{n, n.list[skip:]} }

func (c *cursor) peek() *node {
	if len(c.rest) == 0 {
		return nil
	}
	return &c.rest[0]
}

func (c *cursor) take() *node {
	n := c.peek()
	if n != nil {
		c.rest = c.rest[1:]
	}
	return n
}

// need takes the next node, which has to be there.
func (c *cursor) need(want string) *node {
	n := c.take()
	if n == nil {
		c.of.fail("%s ends, want %s", c.of.what(), want)
	}
	return n
}

func (c *cursor) done() {
	if n := c.peek(); n != nil {
		n.fail("got %s, want the end of %s", n.what(), c.of.what())
	}
}

// id takes a $name if one comes.
func (c *cursor) id() string {
	if n := c.peek(); n != nil && n.isID() {
		if len(n.text) == 1 {
			n.fail("got $ without a name")
		}
		return c.take().text
	}
	return ""
}

// word takes an atom if it is the one.
func (c *cursor) word(text string) bool {
	if n := c.peek(); n != nil && n.kind == tokAtom && n.text == text {
		c.take()
		return true
	}
	return false
}

// sub takes a list if it begins with the head.
func (c *cursor) sub(head string) *node {
	if n := c.peek(); n != nil && n.is(head) {
		return c.take()
	}
	return nil
}

// name takes a string that is a name, which is UTF-8.
func (c *cursor) name() string {
	n := c.need("a name in quotes")
	if n.kind != tokString {
		n.fail("got %s, want a name in quotes", n.what())
	}
	if !utf8.ValidString(n.text) {
		n.fail("got a name that isn't UTF-8")
	}
	return n.text
}
