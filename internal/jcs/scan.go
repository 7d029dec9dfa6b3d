package jcs

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// fault is the first thing that scan refuses. A fatal one must not reach the
// parser at all.
type fault struct {
	offset int
	msg    string
	fatal  bool
}

// numberRule says what is wrong with a number as written, or nothing.
type numberRule func(number []byte) string

var byteOrderMark = []byte("\xef\xbb\xbf")

// scan looks at the tokens of src in one pass without checking its syntax: depth,
// numbers and null. On a text with a syntax fault its answer means nothing but
// for depth, which it bounds whatever the text is.
func scan(src []byte, number numberRule, null bool) (f fault) {
	if bytes.HasPrefix(src, byteOrderMark) {
		return fault{0, "the text begins with a byte order mark; save it as UTF-8 without one", true}
	}
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			i = endOfString(src, i)
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fault{i, fmt.Sprintf("nested deeper than %d levels", MaxDepth), true}
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			end := endOfNumber(src, i)
			if f.msg == "" {
				f.offset, f.msg = i, number(src[i:end])
			}
			i = end - 1
		case c == 'n' && !null && f.msg == "":
			f.offset, f.msg = i, "null is not allowed in what is hashed or signed; leave the member out"
		}
	}
	return f
}

// endOfString is the index of the closing quote of the string that opens at i.
func endOfString(src []byte, i int) int {
	i++
	// Nearly always there is no escape.
	if n := bytes.IndexByte(src[i:], '"'); n >= 0 && bytes.IndexByte(src[i:i+n], '\\') < 0 {
		return i + n
	}
	for ; i < len(src) && src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i
}

func endOfNumber(src []byte, i int) int {
	for i < len(src) && (src[i]-'0' < 10 || src[i] == '-' || src[i] == '+' || src[i] == '.' || src[i]|0x20 == 'e') {
		i++
	}
	return i
}

const maxInteger = 1<<53 - 1

// strictNumber allows the decimal integers from 0 to 2^53-1.
func strictNumber(number []byte) string {
	var n uint64
	for i, c := range number {
		if c-'0' > 9 || i > 15 {
			return strictReason(number)
		}
		n = n*10 + uint64(c-'0')
	}
	if n > maxInteger {
		return strictReason(number)
	}
	return ""
}

func strictReason(number []byte) string {
	const want = "want an integer from 0 to 9007199254740991 (2^53-1) written in plain digits"
	what := "an integer that JSON readers do not all read alike"
	switch {
	case bytes.ContainsAny(number, ".eE"):
		what = "a fraction or an exponent"
	case number[0] == '-':
		what = "a negative number"
	}
	return fmt.Sprintf("got %s, %s; %s", clip(string(number), 40), what, want)
}

// plainNumber refuses what a double can't hold: jsontext would write the largest
// double in its place (RFC 8785 §3.2.2.3 wants an error).
func plainNumber(number []byte) string {
	// 1 followed by 308 zeros still fits, so a short number without exponent does.
	if len(number) <= 308 && !bytes.ContainsAny(number, "eE") {
		return ""
	}
	x, err := strconv.ParseFloat(string(number), 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(x, 0) {
		return fmt.Sprintf("number %s is too large for a double (at most about 1.8e308)", clip(string(number), 40))
	}
	return ""
}
