package bundle_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/internal/vectors"
)

// change is one edit of a bundle's JSON.
type change struct {
	what string
	text []byte
}

// changes lists every edit of one value that leaves well-formed JSON: each
// member deleted, added or doubled, each element deleted, doubled or moved, each leaf given
// another plausible value, at every depth.
func changes(t *testing.T, v any) (all []change) {
	put := func(what string, text []byte) { all = append(all, change{what, text}) }
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			less := maps.Clone(v)
			delete(less, name)
			put("delete "+name, encode(t, less))
			put("double "+name, double(t, v, name))
			put("rename "+name, rename(t, v, name))
			for _, c := range changes(t, v[name]) {
				with := maps.Clone(v)
				with[name] = jsontext.Value(c.text)
				put(name+": "+c.what, encode(t, with))
			}
		}
		more := maps.Clone(v)
		more["extra"] = 1
		put("add a member", encode(t, more))
	case []any:
		for i := range v {
			put(fmt.Sprint("delete ", i), encode(t, slices.Delete(slices.Clone(v), i, i+1)))
			put(fmt.Sprint("double ", i), encode(t, slices.Insert(slices.Clone(v), i, v[i])))
			for _, c := range changes(t, v[i]) {
				with := slices.Clone(v)
				with[i] = jsontext.Value(c.text)
				put(fmt.Sprint(i, ": ", c.what), encode(t, with))
			}
		}
		if len(v) == 0 {
			put("add an element", encode(t, []any{"Gpu"}))
		}
		if len(v) > 1 {
			put("swap 0 and 1", encode(t, append([]any{v[1], v[0]}, v[2:]...)))
		}
	default:
		for _, other := range others(v) {
			put(fmt.Sprintf("%v for %v", other, v), encode(t, other))
		}
	}
	return all
}

// others are values that might stand where v does.
func others(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v, 0, nil}
	case float64:
		out := []any{v + 1, v - 1, v * 10, 0.5, fmt.Sprint(v), nil, jsontext.Value(fmt.Sprintf("%.0fe0", v))}
		return slices.DeleteFunc(out, func(o any) bool { return o == any(v) })
	case string:
		out := []any{v + "0", v + " ", "", 1, nil, true, strings.ToUpper(v) + "x", "Gpu", "S1", "Failed", "filesystem_walk", joulebox.Sum([]byte("other")).String()}
		if len(v) > 0 {
			out = append(out, v[1:], v[:len(v)-1]+"=")
		}
		if len(v)%4 != 0 {
			out = append(out, v+strings.Repeat("=", 4-len(v)%4)) // base64 with padding
		}
		return slices.DeleteFunc(out, func(o any) bool { return o == any(v) })
	}
	return nil
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func double(t *testing.T, v map[string]any, name string) []byte {
	member := append(encode(t, name), append([]byte{':'}, encode(t, v[name])...)...)
	text := encode(t, v)
	return append(append(append([]byte{'{'}, member...), ','), text[1:]...)
}

func rename(t *testing.T, v map[string]any, name string) []byte {
	with := maps.Clone(v)
	delete(with, name)
	with[strings.ToUpper(name)] = v[name]
	return encode(t, with)
}

func TestEveryMemberIsBound(t *testing.T) {
	judged := 0
	for _, v := range loadVectors(t) {
		original, o := v.parse(t).Marshal(), v.options()
		var tree any
		if err := json.Unmarshal(original, &tree); err != nil {
			t.Fatal(err)
		}
		for _, c := range changes(t, tree) {
			judged++
			if c.what == "delete image" {
				// Without its object an image might be a module, but for the
				// entrypoint, which is a path: it can't be valid.
				b, err := bundle.Parse(c.text)
				if err == nil && b.Verify(o).Verdict == bundle.Valid {
					t.Errorf("%s: %s: accepted", v.name, c.what)
				}
				continue
			}
			if bytes.Equal(c.text, original) || !refused(c.text, nil, o) {
				t.Errorf("%s: %s: accepted", v.name, c.what)
			}
		}
	}
	vectors.AtLeast(t, "changed members", judged, 5000)
}

// Members of one bundle in place of another's, one or several at once: refused,
// unless all that differ were taken and the whole is the other bundle.
func TestMembersDontMix(t *testing.T) {
	all := loadVectors(t)
	var texts [][]byte
	var trees []map[string]jsontext.Value
	var o bundle.Options
	for _, v := range all {
		text := v.parse(t).Marshal()
		var tree map[string]jsontext.Value
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		texts, trees = append(texts, text), append(trees, tree)
		o.Pinned = append(o.Pinned, v.options().Pinned...)
	}
	names := []string{"attestation", "eat", "image", "receipt", "result", "seal", "unit"}
	judged := 0
	for i := range trees {
		for j := range trees {
			for set := range 1 << len(names) {
				text := encode(t, mix(trees[i], trees[j], names, set))
				if bytes.Equal(text, texts[i]) || bytes.Equal(text, texts[j]) {
					continue
				}
				judged++
				if b, err := bundle.Parse(text); err == nil && b.Verify(o).Verdict != bundle.Invalid && !onlyImageLost(b, texts[i], texts[j]) {
					t.Errorf("%s with members %07b of %s: %s", all[i].name, set, all[j].name, b.Verify(o).Verdict)
				}
			}
		}
	}
	vectors.AtLeast(t, "mixtures", judged, 3000)
}

func mix(a, b map[string]jsontext.Value, names []string, set int) map[string]jsontext.Value {
	out := maps.Clone(a)
	for k, name := range names {
		if set&(1<<k) == 0 {
			continue
		}
		delete(out, name)
		if v, ok := b[name]; ok {
			out[name] = v
		}
	}
	return out
}

// onlyImageLost reports whether b is one of the two bundles without its image
// object, which isn't invalid and never valid.
func onlyImageLost(b *bundle.Bundle, texts ...[]byte) bool {
	for _, text := range texts {
		whole, err := bundle.Parse(text)
		if err == nil && b.Image() == nil && whole.Image() != nil && whole.Statement().ID() == b.Statement().ID() {
			return true
		}
	}
	return false
}
