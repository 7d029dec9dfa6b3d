package dcbor

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCheckAccepts(t *testing.T) {
	for _, s := range []string{
		"00", "17", "1818", "18ff", "190100", "1a00010000", "1b0000000100000000", "1bffffffffffffffff", "20", "3bffffffffffffffff",
		"40", "60", "6161", "80", "a0", "8301820203820405", "a10102", "a200012002", "a26161016162820203",
		"a261620162616102", // length-first is what bytewise gives for text keys
	} {
		if err := Check(unhex(t, s)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	deep := strings.Repeat("81", MaxDepth+1) + "00"
	for name, c := range map[string]struct {
		hex, words string
		offset     int
	}{
		"empty":            {"", "input ends", 0},
		"trailing":         {"0000", "1 bytes after the item", 1},
		"long uint 8":      {"1817", "shortest", 0},
		"long uint 16":     {"1900ff", "shortest", 0},
		"long uint 32":     {"1a0000ffff", "shortest", 0},
		"long uint 64":     {"1b00000000ffffffff", "shortest", 0},
		"long negative":    {"3800", "shortest", 0},
		"long bytes":       {"580161", "shortest", 0},
		"long text":        {"81780161", "shortest", 1},
		"long array":       {"980100", "shortest", 0},
		"long map":         {"b8010000", "shortest", 0},
		"indefinite array": {"9fff", "indefinite", 0},
		"indefinite map":   {"bfff", "indefinite", 0},
		"indefinite bytes": {"5fff", "indefinite", 0},
		"indefinite text":  {"7fff", "indefinite", 0},
		"indefinite uint":  {"1f", "indefinite", 0},
		"reserved":         {"1c", "reserved", 0},
		"false":            {"81f4", "a boolean", 1},
		"true":             {"f5", "a boolean", 0},
		"null":             {"f6", "null", 0},
		"undefined":        {"f7", "undefined", 0},
		"simple":           {"f0", "simple value", 0},
		"simple in two":    {"f8ff", "simple value", 0},
		"half":             {"f93c00", "a float", 0},
		"single":           {"fa3f800000", "a float", 0},
		"double":           {"fb3ff0000000000000", "a float", 0},
		"break":            {"ff", "break", 0},
		"tag":              {"c074", "tag 0", 0},
		"tag 18":           {"d28443a10127a04100", "tag 18", 0},
		"bad UTF-8":        {"8261616180", "UTF-8", 3},
		"surrogate":        {"63eda080", "UTF-8", 0},
		"unsorted":         {"a2616202616101", "out of order", 4},
		"unsorted ints":    {"a220000100", "out of order", 3},
		"duplicate":        {"a2616101616102", "duplicate", 4},
		"nested duplicate": {"81a201010102", "duplicate", 4},
		"bytes key":        {"a1416100", "byte string as a map key", 1},
		"array key":        {"a18000", "array as a map key", 1},
		"map key":          {"a1a000", "map as a map key", 1},
		"bool key":         {"a1f400", "boolean", 1},
		"cut head":         {"1901", "in the head", 0},
		"cut text":         {"6361", "claims 3 bytes, and 1 are left", 0},
		"cut array":        {"8200", "claims 2 items, and 1 bytes are left", 0},
		"cut map":          {"a100", "claims 1 pairs", 0},
		"cut inside":       {"82820000", "input ends", 4},
		"huge bytes":       {"5bffffffffffffffff", "claims", 0},
		"huge text":        {"7b7fffffffffffffff", "claims", 0},
		"huge array":       {"9bffffffffffffffff", "claims", 0},
		"huge map":         {"bb8000000000000000", "claims", 0},
		"huge map wraps":   {"bb8000000000000001000000", "claims", 0},
		"too deep":         {deep, "deeper", MaxDepth + 1},
	} {
		b := unhex(t, c.hex)
		e, ok := errors.AsType[*Error](Check(b))
		if !ok {
			t.Errorf("%s: got %v, want an *Error", name, e)
		} else if e.Offset != c.offset || !strings.Contains(e.Error(), c.words) {
			t.Errorf("%s: got %v, want byte %d and %q", name, e, c.offset, c.words)
		}
	}
}

func TestCheckDepth(t *testing.T) {
	if err := Check(unhex(t, strings.Repeat("81", MaxDepth)+"00")); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
	for _, open := range []string{"81", "a100", "9f", "c1", "a1"} {
		b := unhex(t, strings.Repeat(open, 1_000_000))
		for rule, f := range rules {
			if err := f(b); err == nil {
				t.Errorf("%s accepted a million of %s", rule, open)
			}
		}
	}
}

var rules = map[string]func([]byte) error{
	"Check":     Check,
	"Canonical": func(b []byte) error { _, err := Canonical(b); return err },
}

// A few bytes that claim billions of items are refused before anything is allocated.
func TestCountsAllocateNothing(t *testing.T) {
	for _, s := range []string{"9bffffffffffffffff00", "bb7fffffffffffffff0000", "5bffffffffffffffff", "9a7fffffff", "ba7fffffff", "7b00000001000000ff"} {
		b := unhex(t, s)
		for rule, f := range rules {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 100 {
				if f(b) == nil {
					t.Errorf("%s accepted %s", rule, s)
				}
			}
			runtime.ReadMemStats(&after)
			if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 4096 {
				t.Errorf("%s(%s): allocates %d bytes", rule, s, each)
			}
		}
	}
}

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
		"case":             {"a2614101616240", `missing map key "a"`},
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
