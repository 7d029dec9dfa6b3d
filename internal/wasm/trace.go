package wasm

import (
	"strconv"
	"strings"
)

// trace finds the guest's call stack in an error of the engine, innermost call
// first, 30 calls at most. A function without a name goes by its index in the
// guest's own module. It is for people: no record holds it.
func (m *Module) trace(err error) []string {
	_, lines, ok := strings.Cut(err.Error(), "\nwasm stack trace:\n\t")
	if !ok {
		return nil
	}
	lines, _, _ = strings.Cut(lines, "\n\n") // the host's own stack
	var calls []string
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if name, _, ok := cutSignature(line); ok {
			if name = m.guestName(name); name != "" {
				calls = append(calls, name)
			}
		}
	}
	return calls
}

// cutSignature splits "module.name(i32) i32". A name may hold parentheses itself,
// a signature's parameters never do.
func cutSignature(line string) (name, signature string, ok bool) {
	i := strings.LastIndexByte(line, '(')
	if results := strings.Index(line, ") ("); results >= 0 { // several results
		i = strings.LastIndexByte(line[:results], '(')
	}
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i:], true
}

// guestName undoes what the rewriting did to an index: its hooks come between
// the guest's imports and the guest's functions.
func (m *Module) guestName(name string) string {
	_, number, ok := strings.Cut(name, ".$")
	if !ok {
		return strings.TrimPrefix(name, ".")
	}
	index, err := strconv.Atoi(number)
	if err != nil || index < len(m.info.Imports) {
		return name
	}
	if index -= len(meterFuncs); index >= m.info.Functions {
		return "" // a wrapper of the rewriting's
	}
	return "$" + strconv.Itoa(index)
}
