// Package jcs is canonical JSON in two strengths. Canonical is RFC 8785 for any
// I-JSON text. Strict is what this project hashes and signs (§4): the same form
// of a smaller language that holds no fractions, no null and no integer that two
// texts could share, so that equal ids mean equal objects.
//
// Parsing and printing are encoding/json/jsontext's; this package adds the
// refusals that it lacks and says where and why a text was refused.
package jcs

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"slices"
)

// MaxDepth is how deep arrays and objects may nest. Deeper text is refused before
// anything recurses over it.
const MaxDepth = 1000

// Canonical is the RFC 8785 form of one JSON text. Numbers are read and printed
// as IEEE 754 doubles, as the RFC says. Refused, never repaired: duplicate names,
// invalid UTF-8, lone or reversed surrogates, numbers too large for a double, a
// byte order mark, anything after the value, nesting beyond MaxDepth.
// Refusals are *Error.
func Canonical(src []byte) ([]byte, error) { return canonical(src, plainNumber, true) }

// Strict is Canonical for what is hashed and signed: objects, arrays, strings,
// booleans and integers from 0 to 2^53-1. null, negative numbers, -0, fractions
// and exponents are refused even where they stand for such an integer.
// Refusals are *Error.
func Strict(src []byte) ([]byte, error) { return canonical(src, strictNumber, false) }

// Marshal is the strict canonical text of a Go value: what is hashed and signed.
// A value that holds something else than Strict allows is an error that names
// it by JSON pointer.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fromMarshal(err)
	}
	if f := scan(text, strictNumber, false); !f.fatal && f.msg == "" {
		if out, ok := ordered(text); ok {
			return out, nil
		}
	}
	out, err := Strict(text)
	if e, ok := errors.AsType[*Error](err); ok {
		// The text is ours: its lines and columns would tell nobody anything.
		return nil, &Error{Pointer: e.Pointer, Offset: -1, Msg: e.Msg}
	}
	return out, err
}

// Unmarshal reads strict JSON, canonical or not, into v and refuses whatever v
// could not say again: unknown members, names in another case, and members that
// v always writes and the text lacks. So Marshal(v) equals Strict(src), and what
// a signature covers is what the program acts on. v should be a zero value.
func Unmarshal(src []byte, v any) error {
	want, err := Strict(src)
	if err != nil {
		return err
	}
	// From the canonical text, so that a member kept as raw text is canonical too.
	if err := json.Unmarshal(want, v, json.RejectUnknownMembers(true)); err != nil {
		return fromUnmarshal(src, v, err)
	}
	got, err := Marshal(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return differ(src, want, got)
	}
	return nil
}

// canonical checks what jsontext doesn't, then lets it do the work. A syntax
// fault goes first: what was scanned of a broken text may mean nothing.
func canonical(src []byte, number numberRule, null bool) ([]byte, error) {
	f := scan(src, number, null)
	if f.fatal {
		return nil, newError(src, f.offset, "", f.msg)
	}
	v := jsontext.Value(slices.Clone(src))
	if err := v.Canonicalize(); err != nil {
		return nil, syntaxError(src, err)
	}
	if f.msg != "" {
		return nil, newError(src, f.offset, pointerAt(src, f.offset), f.msg)
	}
	return v, nil
}
