package jcs

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"spaces":             {" { \"b\" : 1 ,\t\"a\":[ ] }\r\n", `{"a":[],"b":1}`},
		"utf-16 order":       {`{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"\u00f6":7}`, "{\"\\r\":4,\"1\":5,\"\u0080\":6,\"ö\":7,\"€\":3,\"😀\":2,\"\ufb33\":1}"},
		"escapes":            {`"\u000f\u000a\/\u007f\u2028\u003c\u0022\\\b"`, "\"\\u000f\\n/\u007f\u2028<\\\"\\\\\\b\""},
		"numbers":            {`[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]`, `[333333333.3333333,1e+30,4.5,0.002,1e-27]`},
		"minus zero":         {`[-0,-0.0,0e5]`, `[0,0,0]`},
		"powers":             {`[1e21,1e20,999999999999999999999,1e-7,1e-6]`, `[1e+21,100000000000000000000,1e+21,1e-7,0.000001]`},
		"beyond 2^53":        {`[9007199254740993,18446744073709551615]`, `[9007199254740992,18446744073709552000]`},
		"largest double":     {`[1.7976931348623157e308,5e-324]`, `[1.7976931348623157e+308,5e-324]`},
		"underflow":          {`[1e-400,-1e-400]`, `[0,0]`},
		"long but not large": {`[` + strings.Repeat("0.", 1) + strings.Repeat("1", 400) + `]`, `[0.1111111111111111]`},
		"null":               {`null`, `null`},
		"depth":              {strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)},
	} {
		got, err := Canonical([]byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// refusals maps a text to the position of its fault and to words that its error
// must hold.
var refusals = []struct {
	in           string
	line, column int
	pointer      string
	words        string
}{
	{"{\"a\\u001b[2Jb\":[1e999]}", 1, 17, "/a\x1b[2Jb/0", `"/a\x1b[2Jb/0"`},
	{`{"a":1,"a":2}`, 1, 8, "/a", `duplicate member name "a"`},
	{"{\"ä\":{\"x\":1,\n\t\"\\u0078\":2}}", 2, 2, "/ä/x", `duplicate member name "x"`},
	{`[1e400]`, 1, 2, "/0", "too large"},
	{`[-1e400]`, 1, 2, "/0", "too large"},
	{`[1` + strings.Repeat("0", 309) + `]`, 1, 2, "/0", "too large"},
	{`"\ud800"`, 1, 2, "", "surrogate"},
	{`["é","\udc00"]`, 1, 7, "/1", "surrogate"},
	{`"\ude00\ud83d"`, 1, 2, "", "surrogate"},
	{`{"\ud800":1}`, 1, 3, "", "surrogate"},
	{"[\"é\",\n\"é\xff\"]", 2, 3, "/1", "invalid UTF-8; save the text as UTF-8"},
	{"\xef\xbb\xbf{}", 1, 1, "", "byte order mark"},
	{"{} {}", 1, 4, "", "follows the value"},
	{"{}\n x", 2, 2, "", "follows the value"},
	{"", 1, 1, "", "empty"},
	{" \n ", 2, 2, "", "empty"},
	{`{"a":[1`, 1, 8, "", "cut short"},
	{`[1,]`, 1, 4, "/1", "remove the comma"},
	{`{"a":1,}`, 1, 8, "", "remove the comma"},
	{"[1 // x\n]", 1, 4, "", "no comments"},
	{`{'a':1}`, 1, 2, "", "double quotes"},
	{`[01]`, 1, 3, "", "invalid character '1'"},
	{`[+1]`, 1, 2, "/0", "invalid character '+'"},
	{`[NaN]`, 1, 2, "/0", "invalid character 'N'"},
	{"[\"a\x01\"]", 1, 4, "/0", "invalid character"},
	{strings.Repeat("[", 100_000), 1, MaxDepth + 1, "", "nested deeper"},
	{strings.Repeat(`{"a":`, 100_000), 1, 5*MaxDepth + 1, "", "nested deeper"},
	{strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), 1, MaxDepth + 1, "", "nested deeper"},
}

func TestRefusals(t *testing.T) {
	for _, c := range refusals {
		wantError(t, c.in, "Canonical", c.line, c.column, c.pointer, c.words)
	}
}

// Whatever Canonical refuses, Strict refuses too; and more.
func TestStrictRefusals(t *testing.T) {
	for _, c := range refusals {
		if _, err := Strict([]byte(c.in)); err == nil {
			t.Errorf("Strict accepted %.60q", c.in)
		}
	}
	for _, c := range []struct {
		in, words string
		column    int
	}{
		{`[null]`, "null", 2}, {`["n",  null]`, "null", 8}, {`[1.5]`, "fraction", 2}, {`[1.0]`, "fraction", 2}, {`[1e2]`, "exponent", 2},
		{`[1E2]`, "exponent", 2}, {`[-1]`, "negative", 2}, {`[-0]`, "negative", 2}, {`[9007199254740992]`, "2^53-1", 2},
		{`["é", 18446744073709551616]`, "2^53-1", 7}, {`[99999999999999999999999999]`, "2^53-1", 2}, {`[1e400]`, "exponent", 2},
		{`[0,1.5,null]`, "fraction", 4},
	} {
		pointer := fmt.Sprintf("/%d", strings.Count(c.in[:strings.LastIndexAny(c.in[:c.column], "[, ")+1], ","))
		wantError(t, c.in, "Strict", 1, c.column, pointer, c.words)
	}
}

func wantError(t *testing.T, in, rule string, line, column int, pointer, words string) {
	t.Helper()
	f := map[string]func([]byte) ([]byte, error){"Canonical": Canonical, "Strict": Strict}[rule]
	out, err := f([]byte(in))
	e, ok := errors.AsType[*Error](err)
	switch {
	case out != nil || !ok:
		t.Errorf("%s(%.60q): got %q, %v, want an *Error", rule, in, out, err)
	case e.Line != line || e.Column != column || e.Pointer != pointer || !strings.Contains(e.Error(), words):
		t.Errorf("%s(%.60q): got %v (%q), want line %d, column %d, pointer %q and %q", rule, in, e, e.Pointer, line, column, pointer, words)
	case e.Offset < 0 || e.Offset > int64(len(in)):
		t.Errorf("%s(%.60q): offset %d is outside of the text", rule, in, e.Offset)
	}
}

func TestStrict(t *testing.T) {
	const in = ` {"z":[true,false,0,9007199254740991],"a":"null -1.5e3 \"\\"}`
	const want = `{"a":"null -1.5e3 \"\\","z":[true,false,0,9007199254740991]}`
	got, err := Strict([]byte(in))
	if err != nil || string(got) != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
	if !bytes.HasPrefix([]byte(in), []byte(" {")) {
		t.Fatal("the input was changed")
	}
}

// Nested objects whose members are out of order are moved at every level: the
// depth limit keeps that affordable.
func TestDeepUnsorted(t *testing.T) {
	in := strings.Repeat(`{"b":`, MaxDepth) + `"` + strings.Repeat("x", 100_000) + `"` + strings.Repeat(`,"a":1}`, MaxDepth)
	out, err := Canonical([]byte(in))
	if err != nil || !strings.HasPrefix(string(out), `{"a":1,"b":{"a":1,"b":`) {
		t.Fatalf("got %.40q, %v", out, err)
	}
}

func TestMarshal(t *testing.T) {
	type object struct {
		Z uint64         `json:"z"`
		A jsontext.Value `json:"a"`
		N string         `json:"n,omitempty"`
	}
	got, err := Marshal(object{Z: maxInteger, A: jsontext.Value(` { "y":1, "x" : "\u0041"}`)})
	if want := `{"a":{"x":"A","y":1},"z":9007199254740991}`; err != nil || string(got) != want {
		t.Fatalf("got %s, %v, want %s", got, err, want)
	}
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"large integer": {map[string]uint64{"n": 1 << 53}, "json: /n: got 9007199254740992"},
		"negative":      {[]int{-1}, "json: /0: got -1"},
		"fraction":      {map[string][]float64{"x": {0, 0.5}}, "json: /x/1: got 0.5"},
		"null":          {map[string]any{"a": nil}, "json: /a: null"},
		"nil pointer":   {struct{ P *int }{}, "json: /P: null"},
		"bad UTF-8":     {map[string]string{"s": "\xff"}, "json: /s: invalid UTF-8"},
		"no JSON form":  {map[string]any{"c": make(chan int)}, "json: /c: a Go chan int has no form in JSON"},
	} {
		out, err := Marshal(c.v)
		e, ok := errors.AsType[*Error](err)
		if out != nil || !ok || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v, want %q…", name, out, err, c.want)
		} else if e.Offset != -1 || e.Line != 0 {
			t.Errorf("%s: a Go value has no lines, got line %d, offset %d", name, e.Line, e.Offset)
		}
	}
}

// formatLong writes a double with all of its digits, unlike the canonical form.
func formatLong(x float64) string { return strconv.FormatFloat(x, 'e', 20, 64) }
