package dcbor

import (
	"bytes"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "03-cbor"

// class is the judgement that every case carries.
type class struct {
	WellFormed  bool     `json:"well_formed"`
	Valid       bool     `json:"valid"`
	Core        bool     `json:"core_deterministic_4_2_1"`
	LengthFirst bool     `json:"length_first_4_2_3"`
	Plain       bool     `json:"no_float_bool_null_simple"`
	Findings    []string `json:"findings"`
}

type vector struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Diagnostic  string      `json:"diagnostic"`
	Hex         vectors.Hex `json:"hex"`
	MapHex      vectors.Hex `json:"map_hex"`
	Fail        bool        `json:"upstream_fail"`
	Roundtrip   bool        `json:"roundtrip"`
	Class       class       `json:"class"`
}

func (v vector) bytes() []byte { return append(v.Hex, v.MapHex...) }

func load(t *testing.T, name string) (list []vector) {
	t.Helper()
	if name != "ipld-dag-cbor.json" && name != "rfc8949-key-order.json" {
		vectors.Load(t, group, name, &list)
		return list
	}
	var file struct {
		Cases []vector `json:"cases"`
	}
	vectors.Load(t, group, name, &file)
	return file.Cases
}

func TestVectors(t *testing.T) {
	for name, least := range map[string]int{
		"appendix_a.json": 20, "cbor-wg.json": 60, "dcbor-valid.json": 10, "dcbor-invalid.json": 10, "ipld-dag-cbor.json": 20, "rfc8949-key-order.json": 2,
	} {
		list := load(t, name)
		for _, v := range list {
			judgeCanonical(t, name, v)
			judgeCheck(t, name, v)
		}
		vectors.AtLeast(t, name, len(list), least)
	}
	vectors.Covered(t, group, "appendix_a.json", "cbor-wg.json", "dcbor-valid.json", "dcbor-invalid.json", "ipld-dag-cbor.json", "ipld-dag-cbor-negative.json", "rfc8949-key-order.json")
}

// judgeCanonical: every valid item has a canonical form, which is itself exactly
// where it is core deterministic; nothing else has one.
func judgeCanonical(t *testing.T, file string, v vector) {
	t.Helper()
	b := v.bytes()
	out, err := Canonical(b)
	// upstream_fail marks content of the wrong type for its tag, too, which class
	// does not look at.
	if !v.Class.Valid || v.Fail {
		if err == nil {
			t.Errorf("%s: %x (%s%s): got %x, want it refused: %+v", file, b, v.Name, v.Description, out, v.Class)
		}
		return
	}
	if err != nil || bytes.Equal(out, b) != v.Class.Core {
		t.Errorf("%s: %x (%s%s): got %x, %v; it is core deterministic: %v %v", file, b, v.Name, v.Description, out, err, v.Class.Core, v.Class.Findings)
	}
	if again, err := Canonical(out); err != nil || !bytes.Equal(again, out) {
		t.Errorf("%s: %x is no fixed point: %x, %v", file, out, again, err)
	}
}

// judgeCheck: what may be signed is core deterministic, plain, without tags, and
// its map keys are text or integers.
func judgeCheck(t *testing.T, file string, v vector) {
	t.Helper()
	b := v.bytes()
	want := v.Class.Core && v.Class.Plain && !hasMajor(b, tagType) && !hasOddKey(b)
	if err := Check(b); (err == nil) != want {
		t.Errorf("%s: %x (%s%s): got %v, want it accepted: %v", file, b, v.Name, v.Description, err, want)
	}
}

// hasMajor and hasOddKey look with the library's eyes, not with Check's.
func hasMajor(b []byte, major byte) bool {
	found := false
	walk(b, 0, func(h head, key bool) { found = found || h.major == major })
	return found
}

func hasOddKey(b []byte) bool {
	found := false
	walk(b, 0, func(h head, key bool) { found = found || key && h.major != textType && h.major > negType })
	return found
}

// walk visits the items of well-formed bytes of definite lengths.
func walk(b []byte, at int, visit func(h head, key bool)) int { return walkItem(b, at, false, visit) }

func walkItem(b []byte, at int, key bool, visit func(h head, key bool)) int {
	h, err := readHead(b, at)
	if err != nil {
		return len(b)
	}
	visit(h, key)
	at += h.size
	switch h.major {
	case bytesType, textType:
		return at + int(h.arg)
	case arrayType, tagType:
		n := h.arg
		if h.major == tagType {
			n = 1
		}
		for range n {
			at = walkItem(b, at, false, visit)
		}
	case mapType:
		for range h.arg {
			at = walkItem(b, walkItem(b, at, true, visit), false, visit)
		}
	}
	return at
}

// A duplicate key is refused under both rules, sorted or not.
func TestVectorsNegative(t *testing.T) {
	list := load(t, "ipld-dag-cbor-negative.json")
	for _, v := range list {
		if err := Check(v.Hex); err == nil {
			t.Errorf("%s: Check accepted %x", v.Name, v.Hex)
		}
		if out, err := Canonical(v.Hex); err == nil {
			t.Errorf("%s: Canonical(%x) gives %x", v.Name, v.Hex, out)
		}
	}
	vectors.AtLeast(t, "negative items", len(list), 1)
}
