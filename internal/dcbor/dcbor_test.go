package dcbor

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
)

type part struct {
	Class joulebox.DeviceClass `cbor:"class"`
	Joule *uint64              `cbor:"joule,omitempty"`
}

type core struct {
	ID    joulebox.ID   `cbor:"id"`
	Tier  joulebox.Tier `cbor:"tier"`
	Nonce [4]byte       `cbor:"nonce"`
	Raw   []byte        `cbor:"raw"`
	N     uint64        `cbor:"n"`
	I     int64         `cbor:"i"`
	Parts []part        `cbor:"parts"`
	Text  string        `cbor:"text,omitempty"`
}

type claims struct {
	At      uint64         `cbor:"6,keyasint"`
	Nonce   []byte         `cbor:"10,keyasint"`
	Profile string         `cbor:"265,keyasint"`
	Private map[string]any `cbor:"-70001,keyasint"`
}

func TestMarshal(t *testing.T) {
	joule := uint64(5)
	v := core{ID: joulebox.Sum(nil), Tier: joulebox.S2, Nonce: [4]byte{1, 2, 3, 4}, Raw: []byte{}, N: 1 << 63, I: -1,
		Parts: []part{{Class: joulebox.CPU, Joule: &joule}, {Class: joulebox.Quantum}}}
	b, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	const want = "a7616920616e1b8000000000000000626964782e"
	if !bytes.HasPrefix(b, unhex(t, want)) || !bytes.Contains(b, []byte("dtierbS2")) || !bytes.Contains(b, []byte("\x65nonce\x44\x01\x02\x03\x04")) {
		t.Errorf("got %x, want %s…, the tier as text and the nonce as bytes", b, want)
	}
	var back core
	if err := Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("got %+v, %v, want %+v", back, err, v)
	}
}

func TestMarshalIntegerKeys(t *testing.T) {
	b, err := Marshal(claims{At: 1, Nonce: []byte{9}, Profile: "p", Private: map[string]any{"a": uint64(1)}})
	if want := unhex(t, "a406010a410919010961703a00011170a1616101"); err != nil || !bytes.Equal(b, want) {
		t.Errorf("got %x, %v, want %x", b, err, want)
	}
}

func TestMarshalRefuses(t *testing.T) {
	for name, v := range map[string]any{
		"float": 1.5, "bool": true, "nil": nil, "nil bytes": []byte(nil), "nil slice": []string(nil), "nil map": map[string]int(nil),
		"bad UTF-8": "\xff", "bool inside": map[string]any{"a": []any{false}}, "bytes key": map[[1]byte]int{{1}: 1}, "channel": make(chan int),
	} {
		if b, err := Marshal(v); err == nil || b != nil {
			t.Errorf("%s: got %x, %v, want an error", name, b, err)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	type object struct {
		A uint8  `cbor:"a"`
		B []byte `cbor:"b"`
		O string `cbor:"o,omitempty"`
	}
	for name, c := range map[string]struct{ hex, words string }{
		"missing":          {"a1616101", `missing map key "b"`},
		"unknown":          {"a3616101616240616301", "unknown key"},
		"case":             {"a2614101616240", `"A": unknown key`},
		"out of range":     {"a26161190100616240", "overflow"},
		"array for bytes":  {"a261610161628101", "byte"},
		"text for bytes":   {"a261610161626161", "cannot unmarshal"},
		"bytes for text":   {"a3616101616240616f4178", "cannot unmarshal"},
		"empty, left out":  {"a3616101616240616f60", `byte 9: "o": unknown key, or a value that is always left out`},
		"integer key":      {"a30100616101616240", "unknown key"},
		"array for struct": {"820140", "cannot unmarshal"},
		"negative":         {"a2616120616240", "cannot unmarshal"},
		"not strict":       {"a2616200616101", "out of order"},
	} {
		var v object
		if err := Unmarshal(unhex(t, c.hex), &v); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s (%s): got %v, want %q", name, c.hex, err, c.words)
		}
	}
}

// What is missing is named with the way to it, at the offset of its map.
func TestMissingInside(t *testing.T) {
	type leaf struct {
		N uint64 `cbor:"n"`
		B []byte `cbor:"b"`
	}
	type object struct {
		List []leaf          `cbor:"list"`
		Map  map[uint64]leaf `cbor:"map"`
	}
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"in an array": {map[string]any{"list": []any{map[string]any{"n": 1, "b": []byte{}}, map[string]any{"n": 1}}, "map": map[int]int{}},
			`cbor: byte 19: "list"/1: missing map key "b"; add it`},
		"in a map": {map[string]any{"list": []any{}, "map": map[int]any{7: map[string]any{"b": []byte{}}}},
			`cbor: byte 7: "map"/7: missing map key "n"; add it`},
		"at the top": {map[string]any{"list": []any{}}, `cbor: byte 0: missing map key "map"; add it`},
	} {
		b, err := Marshal(c.v)
		if err != nil {
			t.Fatal(err)
		}
		var v object
		if err := Unmarshal(b, &v); err == nil || err.Error() != c.want {
			t.Errorf("%s (%x): got %v, want %s", name, b, err, c.want)
		}
	}
}

// A large input that differs late is compared in linear time.
func TestDifferIsLinear(t *testing.T) {
	type leaf struct {
		B []byte `cbor:"b,omitempty"`
	}
	list := make([]map[string][]byte, 200_000)
	for i := range list {
		list[i] = map[string][]byte{"b": {1}}
	}
	list[len(list)-1] = map[string][]byte{"c": {1}}
	b, err := Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var v []leaf
	if err := Unmarshal(b, &v); err == nil || !strings.Contains(err.Error(), `199999/"c": unknown key`) {
		t.Errorf("got %v", err)
	}
}
