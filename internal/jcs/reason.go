package jcs

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"
)

// syntaxError reads src again with a decoder, which knows positions in the input;
// Canonicalize counts in its output.
func syntaxError(src []byte, err error) error {
	d := jsontext.NewDecoder(bytes.NewReader(src))
	_, found := d.ReadValue()
	if found == nil {
		rest := bytes.TrimLeft(src[d.InputOffset():], " \t\r\n")
		return newError(src, len(src)-len(rest), "", "something follows the value; want one value and nothing after it")
	}
	at, ok := errors.AsType[*jsontext.SyntacticError](found)
	switch {
	case found == io.EOF:
		return newError(src, len(src), "", "the text is empty; want one value")
	case errors.Is(found, io.ErrUnexpectedEOF):
		return newError(src, len(src), "", "the text ends in the middle of a value; is it cut short?")
	case !ok:
		return newError(src, 0, "", err.Error())
	}
	offset := int(at.ByteOffset)
	pointer := string(at.JSONPointer)
	if errors.Is(at.Err, jsontext.ErrDuplicateName) {
		return newError(src, offset, pointer, fmt.Sprintf("duplicate member name %q; keep one", at.JSONPointer.LastToken()))
	}
	return newError(src, offset, pointer, at.Err.Error()+hint(src, offset))
}

// hint is what to do about the commonest faults of text written by hand.
func hint(src []byte, offset int) string {
	if offset >= len(src) {
		return ""
	}
	if r, size := utf8.DecodeRune(src[offset:]); r == utf8.RuneError && size == 1 {
		return "; save the text as UTF-8"
	}
	switch src[offset] {
	case '/', '#':
		return "; JSON has no comments"
	case '\'':
		return "; strings and names take double quotes"
	case '\\':
		return "; an escaped surrogate needs its other half right behind it, high before low"
	case ']', '}':
		if before := bytes.TrimRight(src[:offset], " \t\r\n"); bytes.HasSuffix(before, []byte{','}) {
			return "; remove the comma before it"
		}
	}
	return ""
}

// fromUnmarshal places what json.Unmarshal found in the canonical form of src: it
// reads src itself once more, into a fresh value, for the position.
func fromUnmarshal(src []byte, v any, err error) error {
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Pointer {
		if again := json.Unmarshal(src, reflect.New(t.Elem()).Interface(), json.RejectUnknownMembers(true)); again != nil {
			err = again
		}
	}
	at, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return fmt.Errorf("json: %w", err)
	}
	pointer := string(at.JSONPointer)
	return newError(src, tokenStart(src, int(at.ByteOffset)), pointer, semantic(at))
}

// fromMarshal says which member of a Go value has no JSON form.
func fromMarshal(err error) error {
	at, ok := errors.AsType[*json.SemanticError](err)
	if ok {
		return &Error{Pointer: string(at.JSONPointer), Offset: -1, Msg: semantic(at)}
	}
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &Error{Pointer: string(bad.JSONPointer), Offset: -1, Msg: bad.Err.Error()}
	}
	return fmt.Errorf("json: %w", err)
}

func semantic(at *json.SemanticError) string {
	switch {
	case errors.Is(at.Err, json.ErrUnknownName):
		return fmt.Sprintf("unknown member %q; remove it or correct its spelling (case matters)", at.JSONPointer.LastToken())
	case at.JSONKind == 0 && at.Err != nil:
		return at.Err.Error()
	case at.JSONKind == 0:
		return fmt.Sprintf("a Go %v has no form in JSON", at.GoType)
	case at.Err != nil:
		return fmt.Sprintf("%v; want %s", at.Err, wanted(at.GoType))
	}
	return fmt.Sprintf("got %s, want %s", kindName(at.JSONKind), wanted(at.GoType))
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
	return k.String()
}

// wanted names a Go type by the JSON that fills it.
func wanted(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Int8, reflect.Int16, reflect.Int32:
		return fmt.Sprintf("an integer of %d bits", t.Bits())
	}
	return "an integer"
}
