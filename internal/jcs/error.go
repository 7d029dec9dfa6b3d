package jcs

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error says where a text was refused and why.
type Error struct {
	Pointer string // RFC 6901 pointer to the value at fault, empty for the whole text
	Offset  int64  // byte offset from 0; -1 where a Go value and not a text was at fault
	Line    int    // from 1; 0 where Offset is -1
	Column  int    // in characters, from 1; 0 where Offset is -1
	Msg     string // what was wrong and what to do
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("json: ")
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	if e.Pointer != "" {
		b.WriteString(printable(e.Pointer) + ": ")
	}
	return b.String() + e.Msg
}

// printable clips text from a document and quotes it if a terminal could act on it.
func printable(text string) string {
	text = clip(text, 200)
	if quoted := strconv.Quote(text); quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}

// clip keeps the front of a long text, in whole characters.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}

func newError(src []byte, offset int, pointer, msg string) *Error {
	offset = min(offset, len(src))
	before := src[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return &Error{
		Pointer: pointer,
		Offset:  int64(offset),
		Line:    1 + bytes.Count(before, []byte{'\n'}),
		Column:  1 + utf8.RuneCount(before[start:]),
		Msg:     msg,
	}
}
