// Package dcbor is deterministic CBOR in two strengths. Canonical is the core
// deterministic encoding (RFC 8949 §4.2.1) of any valid item. Check, Marshal and
// Unmarshal are what this project signs (§6.4): the same encoding of a smaller
// language of integers, byte and text strings, arrays, and maps with text or
// integer keys. What parses re-encodes to the same bytes.
//
// Struct coding is fxamacker/cbor's, whose decoder is lenient on purpose; the
// walker in front of it is what makes it strict.
package dcbor

import (
	"bytes"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// MaxDepth is how deep arrays, maps and tags may nest.
const MaxDepth = 1000

// Error says where an encoding was refused and why.
type Error struct {
	Offset int // byte offset from 0
	Msg    string
}

func (e *Error) Error() string { return fmt.Sprintf("cbor: byte %d: %s", e.Offset, e.Msg) }

func fail(offset int, format string, args ...any) error {
	return &Error{Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

var (
	encMode = must(cbor.EncOptions{
		Sort:          cbor.SortBytewiseLexical,
		IndefLength:   cbor.IndefLengthForbidden,
		TagsMd:        cbor.TagsForbidden,
		BigIntConvert: cbor.BigIntConvertReject,
		// Ids, tiers and classes are text on the wire.
		TextMarshaler: cbor.TextMarshalerTextString,
	}.EncMode())
	decMode = must(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		TagsMd:           cbor.TagsForbidden,
		MaxNestedLevels:  MaxDepth,
		MaxArrayElements: 1<<31 - 1, // bounded by the input: Check refused larger counts
		MaxMapPairs:      1<<31 - 1,
		// Unknown keys are caught by the re-encoding, which can name them.
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		TextUnmarshaler:   cbor.TextUnmarshalerTextString,
	}.DecMode())
)

func must[T any](mode T, err error) T {
	if err != nil {
		panic("BUG(joulebox): cbor options: " + err.Error())
	}
	return mode
}

// Marshal is the strict deterministic encoding of a Go value. A value that holds
// a float, a boolean, nil or anything else that Check refuses is an error.
func Marshal(v any) ([]byte, error) {
	b, err := encMode.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cbor: %w", err)
	}
	if err := Check(b); err != nil {
		return nil, fmt.Errorf("cbor: %T can't be signed: %w", v, err)
	}
	return b, nil
}

// Unmarshal reads bytes that pass Check into v and refuses what v could not say
// again: unknown keys, and keys that v always writes and b lacks. Marshal(v)
// then equals b. v should be a zero value.
func Unmarshal(b []byte, v any) error {
	if err := Check(b); err != nil {
		return err
	}
	if err := decMode.Unmarshal(b, v); err != nil {
		return fmt.Errorf("cbor: %w", err)
	}
	again, err := encMode.Marshal(v)
	if err != nil {
		return fmt.Errorf("cbor: %w", err)
	}
	if !bytes.Equal(b, again) {
		return differ(b, again)
	}
	return nil
}
