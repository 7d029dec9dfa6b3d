package jcs

import (
	"bytes"
	"encoding/json/jsontext"
	"strconv"
)

// pointerAt is the pointer to the value whose text covers offset of valid JSON.
func pointerAt(src []byte, offset int) string {
	d := jsontext.NewDecoder(bytes.NewReader(src))
	for {
		if _, err := d.ReadToken(); err != nil {
			return ""
		}
		if d.InputOffset() > int64(offset) {
			return string(d.StackPointer())
		}
	}
}

// offsetOf is where the value at pointer begins in valid JSON.
func offsetOf(src []byte, pointer jsontext.Pointer) int {
	d := jsontext.NewDecoder(bytes.NewReader(src))
	for token := range pointer.Tokens() {
		if err := enter(d, token); err != nil {
			return 0
		}
	}
	return tokenStart(src, int(d.InputOffset()))
}

// enter moves d from before a value to before its member or element token.
func enter(d *jsontext.Decoder, token string) error {
	open, err := d.ReadToken()
	if err != nil {
		return err
	}
	if open.Kind() == '[' {
		index, err := strconv.Atoi(token)
		for ; err == nil && index > 0; index-- {
			err = d.SkipValue()
		}
		return err
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' || name.String() == token {
			return err
		}
		if err := d.SkipValue(); err != nil {
			return err
		}
	}
}

// tokenStart skips what may stand between two tokens.
func tokenStart(src []byte, offset int) int {
	offset = min(offset, len(src))
	return len(src) - len(bytes.TrimLeft(src[offset:], " \t\r\n,:"))
}
