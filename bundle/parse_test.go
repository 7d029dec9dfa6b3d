package bundle_test

import (
	"bytes"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/bundle"
)

// full is a run with every optional member but a manifest.
func full(t testing.TB) *run {
	r := sovereign()
	r.image, r.journal = treeImage(true), sampleJournal(t)
	return r
}

func TestParseRefusals(t *testing.T) {
	b := full(t).bundle(t)
	for _, c := range []struct{ member, value, want string }{
		{"schema", `"joulebox.bundle/2"`, "schema"},
		{"schema", `1`, "schema"},
		{"receipt", `""`, "receipt: is empty"},
		{"receipt", `"AAA="`, "receipt: want base64url"},
		{"receipt", `"A A"`, "receipt: want base64url"},
		{"receipt", `"AAB"`, "receipt: want base64url"}, // an unused bit
		{"receipt", `"AA\nAA"`, "receipt: got a line break at 2"},
		{"receipt", `"+/+/"`, "receipt: want base64url"},
		{"receipt", `"AAAA"`, "receipt: cose"},
		{"eat", `"AAAA"`, "eat"},
		{"eat", `null`, "null"},
		{"journal", `""`, "journal: is empty"},
		{"seal", `{}`, "content_sha256_hex"},
		{"seal", `{"content_sha256_hex":"","signature_hex":"","public_key_hex":""}`, "content_sha256_hex"},
		{"result", `{}`, "stderr_b3"},
		{"unit", `{}`, "unit"},
		{"image", `{}`, "image"},
		{"image", `7`, "image"},
		{"evidence", `{}`, "evidence"},
		{"evidence", `{"chain":[],"kind":"Nitro","report":"AAAA"}`, "kind"},
		{"evidence", `{"chain":[],"kind":"Tdx","report":""}`, "report: is empty"},
		{"evidence", `{"chain":["AAB"],"kind":"Tdx","report":"AAAA"}`, "chain[0]"},
		{"manifest", `{}`, "manifest"},
		{"manifest", `{"core":7,"seal":{"content_sha256_hex":"","signature_hex":"","public_key_hex":""}}`, "core"},
		{"extra", `7`, "extra"},
	} {
		m := members(t, b)
		m[c.member] = jsontext.Value(c.value)
		_, err := bundle.Parse(must[[]byte](t)(marshalMembers(m)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: got error %v, want it to say %q", c.member, c.value, err, c.want)
		}
	}
	for _, name := range []string{"schema", "unit", "receipt", "attestation", "seal", "eat", "result"} {
		m := members(t, b)
		delete(m, name)
		_, err := bundle.Parse(must[[]byte](t)(marshalMembers(m)))
		if err == nil || !strings.Contains(err.Error(), name+": the member is missing") {
			t.Errorf("without %s: got error %v", name, err)
		}
	}
	for _, text := range []string{"", "{}", "[]", "null", "7", "{}{}", "\xef\xbb\xbf{}"} {
		if _, err := bundle.Parse([]byte(text)); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
}

// Any layout and any order of members is the same bundle.
func TestLayoutDoesNotMatter(t *testing.T) {
	b := full(t).bundle(t)
	indented := jsontext.Value(b.Marshal())
	if err := indented.Indent(); err != nil {
		t.Fatal(err)
	}
	crlf := bytes.ReplaceAll(indented, []byte("\n"), []byte("\r\n"))
	text := string(b.Marshal())
	i := strings.LastIndex(text, `,"unit":`)
	moved := `{` + text[i+1:len(text)-1] + `,` + text[1:i] + `}`
	escaped := strings.Replace(text, `"run"`, `"\u0072un"`, 1)
	for _, layout := range []string{string(indented), string(crlf), moved, escaped, "\n" + text + "\n"} {
		got, err := bundle.Parse([]byte(layout))
		if err != nil {
			t.Errorf("%v: %.60q", err, layout)
			continue
		}
		if string(got.Marshal()) != text {
			t.Errorf("another canonical form: %.60q", layout)
		}
	}
}

// FuzzBundle: what parses is written again to a text that parses to the same,
// and Verify has an answer for it.
func FuzzBundle(f *testing.F) {
	f.Add(full(f).bundle(f).Marshal())
	f.Add(honest().bundle(f).Marshal())
	o := pinned(testKey(1))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := bundle.Parse(text)
		if err != nil {
			return
		}
		again, err := bundle.Parse(b.Marshal())
		if err != nil || !bytes.Equal(again.Marshal(), b.Marshal()) {
			t.Errorf("written again: %v", err)
		}
		switch v := b.Verify(o).Verdict; v {
		case bundle.Valid, bundle.Invalid, bundle.Incomplete:
		default:
			t.Errorf("verdict %q", v)
		}
	})
}
