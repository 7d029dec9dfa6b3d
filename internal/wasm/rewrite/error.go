package rewrite

import "fmt"

// Error says why a module was refused, and at which byte of it.
type Error struct {
	Offset int    // byte offset in the module
	Msg    string // lower case, says what was found and what is wanted
	// Limit says that the module is past one of Limits; for all that is known it's
	// valid otherwise. Else it is malformed, or uses what isn't supported.
	Limit bool
}

// Error is "module byte 0x2a: …".
func (e *Error) Error() string { return fmt.Sprintf("module byte 0x%x: %s", e.Offset, e.Msg) }

// fail ends the decode. The decoder reads deep inside of nested loops, where a
// returned error at each byte would hide the grammar; catch is the only place
// that turns it back into a value, and it lets every other panic pass.
func fail(offset int, format string, args ...any) {
	panic(&Error{Offset: offset, Msg: fmt.Sprintf(format, args...)})
}

// failLimit is fail for a module that is past a limit.
func failLimit(offset int, format string, args ...any) {
	panic(&Error{Offset: offset, Msg: fmt.Sprintf(format, args...), Limit: true})
}

func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}
