package journal

import (
	"fmt"
	"strings"
)

// Describe says in words what an entry is, without the bytes that it brought.
func Describe(entry Entry) string {
	switch v := entry.(type) {
	case *Begin:
		return fmt.Sprintf("the beginning of unit %s", v.Unit)
	case *Call:
		return v.describe()
	case *State:
		return fmt.Sprintf("state %s of %d bytes after %d calls at %d units", v.Hash, v.Memory, v.Calls, v.Units)
	case *Cut:
		return fmt.Sprintf("%s, which no longer fitted, for %d units", callText(v.Name, v.Args), v.Units)
	case *End:
		return v.describe()
	}
	return "no entry"
}

func (v *Call) describe() string {
	if v.Broke {
		return fmt.Sprintf("%s, which broke off, for %d units", callText(v.Name, v.Args), v.Units)
	}
	return fmt.Sprintf("%s = %d for %d units", callText(v.Name, v.Args), v.Result, v.Units)
}

func (v *End) describe() string {
	text := v.Cause
	if v.Trap != "" {
		text += " (" + v.Trap + ")"
	}
	state := "no state"
	if !v.State.Hash.IsZero() {
		state = fmt.Sprintf("state %s of %d bytes", v.State.Hash, v.State.Memory)
	}
	return fmt.Sprintf("the end: %s, code %d, %d units, %d instructions, %d vectors, peak %d bytes, %d calls, %s",
		text, v.Code, v.Units, v.Instructions, v.Vectors, v.Peak, v.State.Calls, state)
}

// callText shows a call as its name with its arguments.
func callText(name string, args []uint64) string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = fmt.Sprint(a)
	}
	return name + "(" + strings.Join(list, ", ") + ")"
}
