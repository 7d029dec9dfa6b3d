package wat

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// lexer cuts a text into tokens.
type lexer struct {
	src  []byte
	pos  int
	line int
	bol  int // where the line begins
}

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokOpen
	tokClose
	tokAtom
	tokString
)

type token struct {
	kind   tokenKind
	text   string // of an atom; the bytes of a string
	line   int
	column int
}

func (l *lexer) fail(format string, args ...any) {
	panic(&Error{l.line, l.pos - l.bol + 1, fmt.Sprintf(format, args...)})
}

func (l *lexer) next() token {
	l.space()
	t := token{line: l.line, column: l.pos - l.bol + 1}
	if l.pos == len(l.src) {
		return t
	}
	switch c := l.src[l.pos]; {
	case c == '(':
		l.pos++
		t.kind = tokOpen
	case c == ')':
		l.pos++
		t.kind = tokClose
	case c == '"':
		t.kind, t.text = tokString, l.str()
	case idChar(c):
		t.kind, t.text = tokAtom, l.atom()
	default:
		l.fail("got the character %q, want text of a module", c)
	}
	return t
}

// space passes over blanks, comments and annotations' openings.
func (l *lexer) space() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == '\n':
			l.pos++
			l.line, l.bol = l.line+1, l.pos
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case bytes.HasPrefix(l.src[l.pos:], []byte(";;")):
			for l.pos < len(l.src) && l.src[l.pos] != '\n' {
				l.pos++
			}
		case bytes.HasPrefix(l.src[l.pos:], []byte("(;")):
			l.comment()
		default:
			return
		}
	}
}

func (l *lexer) comment() {
	for depth := 0; ; {
		rest := l.src[l.pos:]
		switch {
		case len(rest) == 0:
			l.fail("a comment isn't closed, want ;)")
		case bytes.HasPrefix(rest, []byte("(;")):
			depth++
			l.pos += 2
		case bytes.HasPrefix(rest, []byte(";)")):
			l.pos += 2
			if depth--; depth == 0 {
				return
			}
		default:
			l.pos++
			if rest[0] == '\n' {
				l.line, l.bol = l.line+1, l.pos
			}
		}
	}
}

func idChar(c byte) bool {
	switch c {
	case '"', ',', ';', '(', ')', '[', ']', '{', '}':
		return false
	}
	return c > ' ' && c < 0x7f
}

func (l *lexer) atom() string {
	start := l.pos
	for l.pos < len(l.src) && idChar(l.src[l.pos]) {
		l.pos++
	}
	if l.pos < len(l.src) && l.src[l.pos] == '"' {
		l.fail("a string follows without a blank before it")
	}
	return string(l.src[start:l.pos])
}

// str reads a string literal: bytes, in which \ begins an escape.
func (l *lexer) str() string {
	var b []byte
	for l.pos++; ; {
		if l.pos == len(l.src) || l.src[l.pos] < ' ' || l.src[l.pos] == 0x7f {
			l.fail("a string isn't closed on its line, want \"")
		}
		switch c := l.src[l.pos]; c {
		case '"':
			l.pos++
			if l.pos < len(l.src) && (idChar(l.src[l.pos]) || l.src[l.pos] == '"') {
				l.fail("something follows a string without a blank between them")
			}
			return string(b)
		case '\\':
			b = l.escape(b)
		default:
			r, n := utf8.DecodeRune(l.src[l.pos:])
			if r == utf8.RuneError && n == 1 {
				l.fail("got the byte %#x in a string, want UTF-8; write it as \\%02x", c, c)
			}
			b = append(b, l.src[l.pos:l.pos+n]...)
			l.pos += n
		}
	}
}

var escapes = map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', '"': '"', '\'': '\'', '\\': '\\'}

func (l *lexer) escape(b []byte) []byte {
	rest := l.src[l.pos+1:]
	if len(rest) > 0 {
		if c, ok := escapes[rest[0]]; ok {
			l.pos += 2
			return append(b, c)
		}
	}
	if bytes.HasPrefix(rest, []byte("u{")) {
		return l.unicode(b, rest[2:])
	}
	if len(rest) < 2 || hexDigit(rest[0]) < 0 || hexDigit(rest[1]) < 0 {
		l.fail("got an unknown escape, want one of \\t \\n \\r \\\" \\' \\\\ \\u{…} or two hex digits")
	}
	l.pos += 3
	return append(b, byte(hexDigit(rest[0])<<4|hexDigit(rest[1])))
}

func (l *lexer) unicode(b, digits []byte) []byte {
	end := bytes.IndexByte(digits, '}')
	if end < 1 {
		l.fail("got \\u{ without a number and }, want \\u{…}")
	}
	v, ok := parseUint("0x"+string(digits[:end]), 32)
	if !ok || v > utf8.MaxRune || v >= 0xd800 && v < 0xe000 {
		l.fail("got \\u{%s}, want a Unicode scalar value", digits[:end])
	}
	l.pos += len("\\u{") + end + 1
	return utf8.AppendRune(b, rune(v))
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
