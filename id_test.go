package joulebox_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/vectors"
)

// empty is the published BLAKE3 hash of no bytes, spelled as an id.
const empty = "b3:rxNJufX5oaagQE3qNtzJSZvLJcmtwRK3zJqTyuQfMmI"

func TestIDSpelling(t *testing.T) {
	id := joulebox.Sum(nil)
	if id.String() != empty || len(id.String()) != 46 {
		t.Fatalf("got %s, want %s", id, empty)
	}
	back, err := joulebox.ParseID(empty)
	if err != nil || back != id || back.IsZero() {
		t.Errorf("got %v, %v, want %v", back, err, id)
	}
	if zero := (joulebox.ID{}); !zero.IsZero() || zero.String() != "b3:"+strings.Repeat("A", 43) {
		t.Errorf("zero id: %v, %s", zero.IsZero(), zero)
	}
}

// An id has one spelling; everything near it is refused.
func TestIDRefused(t *testing.T) {
	body := strings.TrimPrefix(empty, "b3:")
	for name, s := range map[string]string{
		"empty":             "",
		"prefix only":       "b3:",
		"no prefix":         body,
		"upper prefix":      "B3:" + body,
		"another prefix":    "b2:" + body,
		"space in front":    " " + empty,
		"space behind":      empty + " ",
		"line break":        empty + "\n",
		"break inside":      "b3:" + body[:20] + "\n" + body[21:],
		"return inside":     "b3:" + body[:20] + "\r\n" + body[22:],
		"short":             empty[:45],
		"long":              empty + "A",
		"padded":            empty + "=",
		"padded in place":   empty[:45] + "=",
		"standard alphabet": "b3:" + strings.Repeat("+/", 21) + "A",
		"trailing bits 1":   "b3:" + strings.Repeat("A", 42) + "B",
		"trailing bits 2":   "b3:" + strings.Repeat("A", 42) + "C",
		"trailing bits 3":   "b3:" + strings.Repeat("A", 42) + "D",
		"hexadecimal":       "b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
		"not ASCII":         "b3:" + strings.Repeat("é", 21) + "A",
	} {
		if id, err := joulebox.ParseID(s); err == nil || !id.IsZero() {
			t.Errorf("%s: %q became %s, %v", name, s, id, err)
		}
	}
}

func TestIDInJSON(t *testing.T) {
	type object struct {
		A joulebox.ID `json:"a"`
		B joulebox.ID `json:"b,omitzero"`
	}
	out, err := json.Marshal(object{A: joulebox.Sum(nil)})
	if want := `{"a":"` + empty + `"}`; err != nil || string(out) != want {
		t.Fatalf("got %s, %v, want %s", out, err, want)
	}
	var back object
	if err := json.Unmarshal(out, &back); err != nil || back.A != joulebox.Sum(nil) || !back.B.IsZero() {
		t.Errorf("got %+v, %v", back, err)
	}
	kept := back.A
	if err := back.A.UnmarshalText([]byte("b3:")); err == nil || back.A != kept {
		t.Errorf("a failed parse changed the id to %s, %v", back.A, err)
	}
}

// The published hashes, at once and as a stream in odd pieces. Keyed hashing and
// key derivation are no part of an id; the library that we take ids from has them,
// and they are checked as a check of it.
func TestVectorsBLAKE3(t *testing.T) {
	var file struct {
		Key     string
		Context string `json:"context_string"`
		Cases   []struct {
			InputLen int `json:"input_len"`
			Hash     vectors.Hex
			Keyed    vectors.Hex `json:"keyed_hash"`
			Derived  vectors.Hex `json:"derive_key"`
		}
	}
	vectors.Load(t, "02-blake3", "test_vectors.json", &file)
	vectors.Covered(t, "02-blake3", "test_vectors.json")
	for _, c := range file.Cases {
		in := make([]byte, c.InputLen)
		for i := range in {
			in[i] = byte(i % 251)
		}
		if id := joulebox.Sum(in); !bytes.Equal(id[:], c.Hash[:32]) {
			t.Errorf("%d bytes: got %x, want %x", c.InputLen, id[:], c.Hash[:32])
		}
		h := joulebox.NewHasher()
		for rest, n := in, 1; len(rest) > 0; n = n*3 + 1 {
			n = min(n, len(rest))
			if _, err := h.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if id := h.ID(); id != joulebox.Sum(in) {
			t.Errorf("%d bytes in pieces: got %s, want %s", c.InputLen, id, joulebox.Sum(in))
		}
		keyed, err := blake3.NewKeyed([]byte(file.Key))
		if err != nil {
			t.Fatal(err)
		}
		extended(t, "hash", blake3.New(), in, c.Hash)
		extended(t, "keyed hash", keyed, in, c.Keyed)
		extended(t, "derived key", blake3.NewDeriveKey(file.Context), in, c.Derived)
	}
	vectors.AtLeast(t, "BLAKE3 inputs", len(file.Cases), 10)
}

func extended(t *testing.T, what string, h *blake3.Hasher, in, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := h.Write(in); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Digest().Read(got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s of %d bytes: got %x, %v, want %x", what, len(in), got, err, want)
	}
}

// FuzzParseID: what parses re-encodes to the same text, and its body is base64url.
func FuzzParseID(f *testing.F) {
	f.Add(empty)
	f.Add("b3:" + strings.Repeat("A", 42) + "B")
	f.Add("b3:" + strings.Repeat("A", 40) + "\n\r=")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := joulebox.ParseID(s)
		if err != nil {
			return
		}
		if id.String() != s {
			t.Fatalf("%q re-encodes to %q", s, id)
		}
		if raw, err := base64.RawURLEncoding.DecodeString(s[3:]); err != nil || !bytes.Equal(raw, id[:]) {
			t.Fatalf("%q: got %x, %v, want %x", s, id[:], err, raw)
		}
	})
}
