package jcs

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "01-jcs"

// The published pairs: input to output, and output to itself.
func TestVectorsPairs(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(vectors.Dir(t, group), "cyberphone", "input", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range inputs {
		name := filepath.Base(path)
		in := vectors.Read(t, group, "cyberphone/input/"+name)
		want := vectors.Read(t, group, "cyberphone/output/"+name)
		for what, text := range map[string][]byte{"input": in, "output": want} {
			if got, err := Canonical(text); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s of %s: got %q, %v, want %q", what, name, got, err, want)
			}
		}
	}
	vectors.AtLeast(t, "pairs", len(inputs), 2)
}

// Each line is the bits of a double in hexadecimal and its text by ES6. The text,
// and the double written with 17 digits, both canonicalize to the text.
func TestVectorsNumbers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectors.Dir(t, group), "es6numbers", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			bits, want, ok := strings.Cut(strings.TrimSpace(line), ",")
			if !ok {
				t.Fatalf("%s: line %q", path, line)
			}
			numberVector(t, bits, want)
			n++
		}
	}
	vectors.AtLeast(t, "numbers", n, 1000)
}

func numberVector(t *testing.T, bits, want string) {
	t.Helper()
	raw, err := hex.DecodeString(strings.Repeat("0", 16-len(bits)) + bits)
	if err != nil {
		t.Fatal(err)
	}
	x := math.Float64frombits(binary.BigEndian.Uint64(raw))
	for _, in := range []string{want, formatLong(x)} {
		if got, err := Canonical([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s (%s): got %s, %v, want %s", bits, in, got, err, want)
		}
	}
}

// The judged test suites: accept with these bytes, refuse, or either; where either
// is accepted the bytes count too.
func TestVectorsSuites(t *testing.T) {
	type judged struct {
		File      string      `json:"file"`
		Expect    string      `json:"expect"`
		Canonical vectors.Hex `json:"canonical_hex"`
	}
	var suite struct {
		Cases []judged `json:"cases"`
	}
	var transform []judged
	vectors.Load(t, group, "jsontestsuite/expected.json", &suite)
	vectors.Load(t, group, "jsontransform/expected.json", &transform)
	judge := map[string]int{}
	seen := map[string]bool{}
	for _, c := range append(suite.Cases, transform...) {
		in := vectors.Read(t, group, c.File)
		judge[c.Expect]++
		seen[c.File] = true
		got, err := Canonical(in)
		accepted := err == nil && bytes.Equal(got, c.Canonical)
		switch {
		case err != nil && (got != nil || !strings.HasPrefix(err.Error(), "json: line ")):
			t.Errorf("%s: got %q, %v, want an error with its line", c.File, got, err)
		case c.Expect == "accept" && !accepted, c.Expect == "refuse" && err == nil, c.Expect == "either" && err == nil && !accepted:
			t.Errorf("%s: got %q, %v, want %s %q", c.File, got, err, c.Expect, c.Canonical)
		}
		strictVector(t, c.File, in, got, err == nil)
	}
	vectors.AtLeast(t, "texts to accept", judge["accept"], 30)
	vectors.AtLeast(t, "texts to refuse", judge["refuse"], 80)
	vectors.AtLeast(t, "texts to do either with", judge["either"], 5)
	for _, folder := range []string{"jsontestsuite", "jsontransform"} {
		files, err := os.ReadDir(filepath.Join(vectors.Dir(t, group), folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := folder + "/" + f.Name(); f.Name() != "expected.json" && !seen[name] {
				t.Errorf("%s has no verdict", name)
			}
		}
	}
}

// Strict accepts no text that Canonical refuses, and never writes other bytes.
func strictVector(t *testing.T, file string, in, canonical []byte, accepted bool) {
	t.Helper()
	got, err := Strict(in)
	if err == nil && (!accepted || !bytes.Equal(got, canonical)) {
		t.Errorf("%s: Strict gives %q, Canonical %q (accepted: %v)", file, got, canonical, accepted)
	}
}

// No file of the group goes without a verdict.
func TestVectorsCovered(t *testing.T) {
	vectors.Covered(t, group, "cyberphone/input/*.json", "cyberphone/output/*.json", "es6numbers/*.txt", "jsontestsuite/*.json", "jsontransform/*.json")
}
