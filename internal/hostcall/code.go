package hostcall

import (
	"errors"
	"fmt"
)

// Code is a negative result of a call.
type Code int32

// The codes. They are part of the ABI.
const (
	Denied      Code = -1 // no grant names it
	NotFound    Code = -2 // there is no such key or file
	TooLarge    Code = -3 // past a bound of the host
	Invalid     Code = -4 // an argument that means nothing
	Unavailable Code = -5 // granted, but this host can't serve it
	IO          Code = -6 // it was tried and failed
)

var codeNames = map[Code]string{
	Denied: "denied", NotFound: "not found", TooLarge: "too large", Invalid: "invalid",
	Unavailable: "unavailable", IO: "i/o error",
}

// Error names the code.
func (c Code) Error() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return fmt.Sprintf("code %d", int32(c))
}

// codeOf is what a guest is told of an error; anything that isn't a Code is IO.
func codeOf(err error) Code {
	var c Code
	if errors.As(err, &c) {
		return c
	}
	return IO
}
