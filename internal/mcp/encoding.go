package mcp

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
)

// unbase64 reads what callers call base64: either alphabet, with padding or none.
// A line break in it is no part of it.
func unbase64(s string) ([]byte, error) {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	return base64.RawStdEncoding.DecodeString(s)
}

// prefixTexts writes key prefixes as the grant's human form does, so that they can
// be given as text.
func prefixTexts(list jsontext.Value) string {
	var texts []string
	if err := json.Unmarshal(list, &texts); err != nil {
		return "[]" // the list has been read before
	}
	for i, t := range texts {
		texts[i] = `{"text":` + quoted(t) + `}`
	}
	return "[" + strings.Join(texts, ",") + "]"
}
