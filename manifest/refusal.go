package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Refusal is one thing in a file that a manifest can't hold.
type Refusal struct {
	// Field is the path of names, such as containerEnv.PATH or mounts[1].type;
	// empty for the file as a whole.
	Field  string `json:"field"`
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // in characters, from 1
	Reason string `json:"reason"`
	Fix    string `json:"fix"` // what to do

	offset int
}

func (r Refusal) String() string {
	field := ""
	if r.Field != "" {
		field = printable(r.Field) + ": "
	}
	return fmt.Sprintf("line %d, column %d: %s%s; %s", r.Line, r.Column, field, r.Reason, r.Fix)
}

// Refusals are all that is wrong with a file, in the order of the file. It is the
// error of Ingest.
type Refusals []Refusal

func (r Refusals) Error() string {
	lines := make([]string, len(r))
	for i, x := range r {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// place finds lines and columns in one pass, however many refusals there are.
func (r Refusals) place(src []byte) {
	slices.SortStableFunc(r, func(a, b Refusal) int { return cmp.Compare(a.offset, b.offset) })
	line, column, at := 1, 1, 0
	for i := range r {
		to := min(max(r[i].offset, at), len(src))
		passed := src[at:to]
		if n := bytes.LastIndexByte(passed, '\n'); n >= 0 {
			line += bytes.Count(passed, []byte{'\n'})
			column, passed = 1, passed[n+1:]
		}
		column += utf8.RuneCount(passed)
		r[i].Line, r[i].Column, at = line, column, to
	}
}

// printable quotes what a terminal could act on, and clips what is long.
func printable(text string) string {
	text = clip(text)
	if quoted := strconv.Quote(text); quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}

// clip keeps the front of a long text, in whole characters.
func clip(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
