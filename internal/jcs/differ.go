package jcs

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// differ says how the text of a value (want) and what the value writes (got) come
// apart: a member that is missing, one that was read and is not written, or a
// value in another spelling. Both are canonical.
func differ(src, want, got []byte) error {
	var w, g any
	if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil {
		return newError(src, 0, "", "BUG(joulebox): canonical text that does not parse")
	}
	d := difference(w, g)
	return newError(src, offsetOf(src, d.at), string(d.pointer), d.msg)
}

// diff is one difference: at exists in the text, pointer names what is wrong.
type diff struct {
	at, pointer jsontext.Pointer
	msg         string
}

// difference finds the first difference in the order of pointers; an empty msg
// means none.
func difference(want, got any) diff {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return objects(w, g)
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			return arrays(w, g)
		}
	case nil:
	default:
		if want == got {
			return diff{}
		}
	}
	return diff{msg: fmt.Sprintf("got %s, which is written %s", show(want), show(got))}
}

func objects(want, got map[string]any) diff {
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return diff{pointer: jsontext.Pointer("").AppendToken(name), msg: fmt.Sprintf("missing member %q; add it", name)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		inner, ok := got[name]
		d := diff{msg: fmt.Sprintf("member %q has a value that is never written; leave it out", name)}
		if ok {
			d = difference(want[name], inner)
		}
		if d.msg != "" {
			return d.under(name)
		}
	}
	return diff{}
}

func arrays(want, got []any) diff {
	for i := range want {
		if d := difference(want[i], got[i]); d.msg != "" {
			return d.under(strconv.Itoa(i))
		}
	}
	return diff{}
}

// under moves a difference one level down.
func (d diff) under(token string) diff {
	d.at = jsontext.Pointer("").AppendToken(token) + d.at
	d.pointer = jsontext.Pointer("").AppendToken(token) + d.pointer
	return d
}

func show(v any) string {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(text), 40)
}
