package cose

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/dcbor"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/internal/vectors"
)

type eatCase struct {
	Name, Kind, Why string
	CBOR            *vectors.Hex `json:"cbor_hex"`
	UEID            *vectors.Hex `json:"ueid_hex"`
	Accept          bool
	Class           *struct {
		Core  bool `json:"core_deterministic_4_2_1"`
		Plain bool `json:"no_float_bool_null_simple"`
	}
}

// judgeClaims holds an encoding against its class: a canonical form that it is
// itself where it is core deterministic, and strict only where it is plain too.
func judgeClaims(t *testing.T, c eatCase) {
	t.Helper()
	b := []byte(*c.CBOR)
	out, err := dcbor.Canonical(b)
	if err != nil || bytes.Equal(out, b) != c.Class.Core {
		t.Errorf("%s%s: canonical form %x, %v; it is core deterministic: %v", c.Name, c.Kind, out, err, c.Class.Core)
	}
	tagged := bytes.HasPrefix(b, []byte(tagCWT))
	if err := dcbor.Check(b); (err == nil) != (c.Class.Core && c.Class.Plain && !tagged) {
		t.Errorf("%s%s: got %v; core %v, plain %v", c.Name, c.Kind, err, c.Class.Core, c.Class.Plain)
	}
}

// The payloads are no envelopes, and the tokens are signed with ES256.
func TestVectorsEATExamples(t *testing.T) {
	var file struct{ Cases []eatCase }
	vectors.Load(t, group, "eat/rfc9711-examples-cbor.json", &file)
	tokens := 0
	for _, c := range file.Cases {
		judgeClaims(t, c)
		want := "envelope: "
		if strings.Contains(c.Name, "Tokens/") {
			tokens, want = tokens+1, "protected header: "
		}
		if p, err := VerifyCWT(*c.CBOR, pub()); err == nil || p != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %x, %v, want it refused for its %s", c.Name, p, err, want)
		}
	}
	vectors.AtLeast(t, "EAT examples", len(file.Cases), 3)
	t.Logf("%d of them tokens", tokens)
}

// The encodings are judged here. What a nonce or a UEID may be is the EAT's own
// business: lengths and types are claims, not forms.
func TestVectorsEATClaims(t *testing.T) {
	var cases []eatCase
	vectors.Load(t, group, "eat/veraison-claims.json", &cases)
	encodings, left := 0, 0
	for _, c := range cases {
		switch {
		case c.Class != nil:
			encodings++
			judgeClaims(t, c)
		case c.CBOR != nil && (c.Accept || c.Why == "truncated"):
			encodings++
			if err := dcbor.Check(*c.CBOR); (err == nil) != c.Accept {
				t.Errorf("%s (%s): got %v", c.Kind, c.Why, err)
			}
		case c.CBOR == nil && c.UEID == nil:
			t.Errorf("%s (%s): a kind of case that nobody judges", c.Kind, c.Why)
		default:
			left++
		}
	}
	vectors.AtLeast(t, "encodings of claims", encodings, 2)
	t.Logf("%d cases are about the meaning of claims and are left to the EAT", left)
}

// JSON claims have a canonical form; they are strict where the standard library's
// view of them has nothing that strict JSON lacks.
func TestVectorsEATJSON(t *testing.T) {
	files := jsonFiles(t, "eat/json")
	for _, name := range files {
		text := vectors.Read(t, group, name)
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		plain, err := jcs.Canonical(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		strict, err := jcs.Strict(text)
		if want := isStrict(v); (err == nil) != want || want && !bytes.Equal(strict, plain) {
			t.Errorf("%s: got %v, want it accepted: %v", name, err, want)
		}
	}
	vectors.AtLeast(t, "JSON claims", len(files), 2)
}

func isStrict(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case json.Number:
		n, err := v.Int64()
		return err == nil && n >= 0 && n < 1<<53 && v != "-0"
	case []any:
		for _, x := range v {
			if !isStrict(x) {
				return false
			}
		}
	case map[string]any:
		for _, x := range v {
			if !isStrict(x) {
				return false
			}
		}
	}
	return true
}
