package jcs

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math"
	"strconv"
	"testing"

	oracle "github.com/gowebpki/jcs"
)

var seeds = []string{
	`{"b":[1,2.5,-0,1e21,null,true],"a":{"\ud83d\ude00":"\u000f","\ufb33":"é"}}`, `[9007199254740991,9007199254740992,1e400]`,
	`{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", "\xef\xbb\xbf{}", `{} x`, `[1,]`, ``, `[[[[[[[[`, `"\\\"\/"`, `-`, `1.`, `{"a":"null","n":[false]}`,
	`[333333333.33333329,5e-324,1.7976931348623157e308]`, ` { "x" : [ ] , "w" : { } } `,
}

// FuzzCanonical: what is accepted is a fixed point, valid, and what an independent
// implementation writes where that accepts it too.
func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out, err := Canonical(in)
		if !bytes.Equal(in, before) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			checkPlace(t, in, err)
			return
		}
		again, err := Canonical(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not a fixed point: %q, then %q, %v", out, again, err)
		}
		// The oracle takes only objects and arrays at the top.
		if theirs, err := oracle.Transform(in); err == nil && !bytes.Equal(theirs, out) {
			t.Fatalf("%q: got %q, the oracle says %q", in, out, theirs)
		}
	})
}

// FuzzStrict: a strict text is canonical under both rules, and a Go value that
// read it writes the same bytes.
func FuzzStrict(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := Strict(in)
		if err != nil {
			checkPlace(t, in, err)
			return
		}
		plain, err := Canonical(in)
		if err != nil || !bytes.Equal(plain, out) {
			t.Fatalf("strict says %q, plain %q, %v", out, plain, err)
		}
		if again, err := Strict(out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not a fixed point: %q, then %q, %v", out, again, err)
		}
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%q does not parse: %v", out, err)
		}
		exact(t, v)
		if again, err := Marshal(v); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q re-encodes to %q, %v", out, again, err)
		}
		// Marshal has a way of its own to order members: also those of raw text.
		if again, err := Marshal(map[string]jsontext.Value{"b": in, "a": in}); err != nil || string(again) != `{"a":`+string(out)+`,"b":`+string(out)+`}` {
			t.Fatalf("%q becomes %q, %v", in, again, err)
		}
	})
}

// FuzzUnmarshal: what parses into a type with a closed set of members re-encodes to
// the canonical form of the text.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"t":"S2","r":{"y":1},"b":{"l":["x"],"n":7},"a":"x","m":{"k":1},"d":["Cpu"],"w":{"Terminated":{"breach":"cpu_time_ms"}}}`))
	f.Add([]byte(`{"a":"","b":{"l":[],"n":0},"t":"S0"}`))
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var v outer
		if err := Unmarshal(in, &v); err != nil {
			return
		}
		want, err := Strict(in)
		if err != nil {
			t.Fatalf("unmarshalled what Strict refuses: %v", err)
		}
		if got, err := Marshal(v); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("re-encodes to %q, %v, want %q", got, err, want)
		}
	})
}

// checkPlace: a refusal points into the text.
func checkPlace(t *testing.T, in []byte, err error) {
	e, ok := err.(*Error)
	if !ok || e.Offset < 0 || e.Offset > int64(len(in)) || e.Line < 1 || e.Column < 1 || e.Msg == "" {
		t.Fatalf("%q: refused without a place: %#v", in, err)
	}
}

// exact: every number in v is an integer that a double holds exactly.
func exact(t *testing.T, v any) {
	switch v := v.(type) {
	case float64:
		if v != math.Trunc(v) || v < 0 || v > maxInteger || math.Signbit(v) {
			t.Fatalf("%s is not a strict integer", strconv.FormatFloat(v, 'g', -1, 64))
		}
	case []any:
		for _, x := range v {
			exact(t, x)
		}
	case map[string]any:
		for _, x := range v {
			exact(t, x)
		}
	case nil:
		t.Fatal("null is not strict")
	}
}
