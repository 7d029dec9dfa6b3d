package supervisor

import (
	"fmt"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

// DeclinedError says that this host does not run the unit: it lacks the tier, a
// mechanism or a meter that the request needs (§1.1, §5.1). Nothing has run.
type DeclinedError struct {
	Tier    joulebox.Tier // what the request requires
	Reasons []grant.Reason
	What    string // what is missing, by name
	Hint    string // what to do about it; may be empty
	Err     error
}

func (e *DeclinedError) Error() string {
	var b strings.Builder
	b.WriteString("declined: " + e.What)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

func (e *DeclinedError) Unwrap() error { return e.Err }
