package wasm

import (
	"errors"
	"strings"
)

// traps maps the engine's wording to names that stay the same when it changes.
var traps = map[string]string{
	"unreachable":                   trapUnreachable,
	"integer divide by zero":        "integer divide by zero",
	"integer overflow":              "integer overflow",
	"invalid conversion to integer": "invalid conversion to integer",
	"out of bounds memory access":   "out of bounds memory access",
	"invalid table access":          "invalid table access",
	"indirect call type mismatch":   "indirect call type mismatch",
	"null reference":                "null reference",
	"stack overflow":                TrapStack,
}

// The traps that the engine itself decides or tells apart.
const (
	trapUnreachable = "unreachable"

	TrapStack  = "stack exhausted"
	TrapMemory = "out of bounds memory access"
	TrapTable  = "invalid table access"
)

// trapName finds the trap in an error of the engine, if it is one. wazero's own
// sentinels are internal to it, so the innermost text is what there is to go by.
func trapName(err error) (string, bool) {
	inner := err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	name, ok := traps[inner.Error()]
	return name, ok
}

// instantiateTrap finds the trap in an error of instantiation: wazero words a
// data segment out of bounds as "data[3]: out of bounds memory access".
func instantiateTrap(err error) (string, bool) {
	if strings.HasPrefix(err.Error(), "data[") && strings.HasSuffix(err.Error(), TrapMemory) {
		return TrapMemory, true
	}
	return trapName(err)
}
