package plainyaml_test

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/plainyaml"
)

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "{}",
		"a: 1\nb: [x, true]\n":           `{"a":1,"b":["x",true]}`,
		"\ufeff{\"a\": 1}":               `{"a": 1}`,
		"a: 1.5\n":                       "want text, true, false or a plain integer",
		"a: yes\n":                       `{"a":"yes"}`,
		"a: 0x10\n":                      "want text, true, false or a plain integer",
		"a: 1\na: 2\n":                   "is there twice",
		"a: &x 1\nb: *x\n":               "alias",
		"a: !!str 1\n":                   "tags such as",
		"1: a\n":                         "want a plain word",
		"a: 1\n---\nb: 2\n":              "more than one document",
		strings.Repeat("- ", 40) + "x\n": "nested deeper",
	} {
		got, err := plainyaml.JSON([]byte(text))
		if strings.HasPrefix(want, "{") {
			if err != nil || string(jsontext.Value(got)) != want && strings.TrimSpace(string(got)) != want {
				t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v, want an error with %q", text, got, err, want)
		}
	}
}

// FuzzJSON: whatever is accepted as YAML is one JSON value without repeated names.
func FuzzJSON(f *testing.F) {
	f.Add([]byte("a: [1, {b: c}]\n"))
	f.Add([]byte("{\"a\": 1"))
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := plainyaml.JSON(src)
		if err != nil || strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(string(src), "\ufeff")), "{") {
			return // JSON is handed on for its own reader to refuse
		}
		if !jsontext.Value(got).IsValid() {
			t.Errorf("%q became %q", src, got)
		}
	})
}
