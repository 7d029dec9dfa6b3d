package grant

import (
	"fmt"
	"strings"
)

// FieldError is one thing that is wrong with a grant.
type FieldError struct {
	// Field is the path of the member, as in "storage.read[2]".
	Field string
	// Pos is where a person wrote it, as in "line 3, column 5"; may be empty.
	Pos string
	// Msg says what was got, what is wanted and what to do.
	Msg string
}

// Error is one line: the field, where it stands if known, and what to do.
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString(e.Field)
	if e.Field == "" {
		b.WriteString("grants")
	}
	if e.Pos != "" {
		b.WriteString(" (" + e.Pos + ")")
	}
	b.WriteString(": " + e.Msg)
	return b.String()
}

// Errors is everything that is wrong with a grant, at once.
type Errors []*FieldError

// Error is one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, f := range e {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first FieldError.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, f := range e {
		list[i] = f
	}
	return list
}

// maxErrors bounds what a hostile grant makes us say.
const maxErrors = 100

func (e *Errors) add(field, format string, args ...any) {
	e.append(&FieldError{Field: field, Msg: fmt.Sprintf(format, args...)})
}

func (e *Errors) append(f *FieldError) {
	switch {
	case len(*e) < maxErrors:
		*e = append(*e, f)
	case len(*e) == maxErrors:
		*e = append(*e, &FieldError{Msg: "more is wrong than is listed here"})
	}
}

// err keeps the typed nil out of the error interface.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
